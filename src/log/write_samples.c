/* SPDX-License-Identifier: MIT
 * How samples were taken, and what their paths are made of. */
#include "log/writing.h"

static void put_module(struct dw_buffer *payload, const struct dw_module *module)
{
    dw_buffer_put(payload, module->path);
    dw_buffer_put(payload, module->start);
    dw_buffer_put(payload, module->end);
    dw_buffer_put(payload, module->file_offset);
    dw_buffer_put(payload, module->bias);
    dw_buffer_put_blob(payload, module->build_id, module->build_id_size);
}

void dw_log_write_modules(struct dw_log_writer *writer, uint32_t process,
                          const struct dw_module *modules, uint32_t count, uint32_t first)
{
    while (first < count && !writer->error) {
        struct dw_buffer *payload = dw_log_chunk_begin(writer);
        dw_buffer_put(payload, process);
        dw_buffer_put(payload, first);
        while (first < count && payload->size < DW_CHUNK_TARGET)
            put_module(payload, &modules[first++]);
        dw_log_chunk_write(writer, DW_CHUNK_MODULES);
    }
}

static void put_place(struct dw_buffer *payload, const struct dw_place *place)
{
    dw_buffer_put(payload, place->frame);
    dw_buffer_put(payload, place->line);
    dw_buffer_put(payload, place->end_line);
    dw_buffer_put(payload, place->column);
    dw_buffer_put(payload, place->end_column);
    dw_buffer_put(payload, place->module);
    dw_buffer_put(payload, place->address);
    dw_buffer_put(payload, place->outer);
}

void dw_log_write_places(struct dw_log_writer *writer, const struct dw_place_table *places,
                         uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_PLACES, first, places->count, put_place(payload, &places->places[at]))
}

void dw_log_write_sampling(struct dw_log_writer *writer, uint32_t process,
                           const struct dw_sampling *sampling)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    uint64_t numbers[] = {
        process,          sampling->mode,    sampling->native, sampling->period_ns, sampling->taken,
        sampling->missed, sampling->guessed, sampling->cut,    sampling->retried};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_buffer_put(payload, numbers[i]);
    dw_log_chunk_write(writer, DW_CHUNK_SAMPLING);
}
