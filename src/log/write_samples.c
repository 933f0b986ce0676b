/* SPDX-License-Identifier: MIT
 * Samples, and what their stacks are made of. */
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

void dw_log_write_stacks(struct dw_log_writer *writer, const struct dw_path_tree *stacks,
                         uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_STACKS, first, stacks->count, dw_put_path(payload, &stacks->paths[at]))
}

static void put_sample(struct dw_buffer *payload, const struct dw_sample_sum *sample)
{
    dw_buffer_put(payload, sample->stack);
    dw_buffer_put(payload, sample->state);
    dw_buffer_put(payload, sample->count);
    dw_buffer_put(payload, sample->weight_ns);
}

void dw_log_write_samples(struct dw_log_writer *writer, uint32_t thread,
                          const struct dw_sample_sums *samples, const bool *is_new)
{
    for (uint32_t i = 0; i < samples->count && !writer->error;) {
        struct dw_buffer *payload = dw_log_chunk_begin(writer);
        dw_buffer_put(payload, thread);
        size_t empty = payload->size;
        for (; i < samples->count && payload->size < DW_CHUNK_TARGET; i++)
            if (!is_new || is_new[i])
                put_sample(payload, &samples->samples[i]);
        if (payload->size > empty)
            dw_log_chunk_write(writer, DW_CHUNK_SAMPLES);
    }
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

void dw_timed_sample_put(struct dw_buffer *bytes, uint64_t delta_ticks, dw_path_id stack,
                         uint32_t state, uint64_t weight_ns)
{
    const uint64_t numbers[] = {delta_ticks, stack, state, weight_ns};
    const size_t count = sizeof numbers / sizeof *numbers;
    uint8_t *start = dw_buffer_reserve(bytes, count * DW_VARINT_MAX), *end = start;
    for (size_t i = 0; start && i < count; i++) /* all of it or nothing: a part would be damage */
        end = dw_varint_put(end, numbers[i]);
    bytes->size += start ? (size_t)(end - start) : 0;
}

void dw_log_write_timed_samples(struct dw_log_writer *writer, uint32_t thread, uint64_t base_tick,
                                const struct dw_buffer *bytes)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, thread);
    dw_buffer_put(payload, base_tick);
    dw_buffer_append(payload, bytes->data, bytes->size);
    dw_log_chunk_write(writer, DW_CHUNK_TIMED_SAMPLES);
}
