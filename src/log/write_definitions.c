/* SPDX-License-Identifier: MIT
 * What other chunks speak of: processes, threads, names, paths, sources. */
#include "log/writing.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static void put_clock(struct dw_buffer *payload, const struct dw_clock_pair *clock)
{
    dw_buffer_put(payload, clock->tick);
    dw_buffer_put(payload, clock->monotonic_ns);
    dw_buffer_put(payload, clock->wall_ns);
}

void dw_put_properties(struct dw_buffer *payload, const struct dw_property *properties,
                       uint32_t count, const struct dw_string_table *strings)
{
    dw_buffer_put(payload, count);
    for (uint32_t i = 0; i < count; i++) {
        dw_put_string(payload, strings->strings[properties[i].key]);
        dw_put_string(payload, strings->strings[properties[i].value]);
    }
}

void dw_log_write_process(struct dw_log_writer *writer, uint32_t id,
                          const struct dw_process *process, const struct dw_string_table *strings)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, id);
    dw_buffer_append(payload, process->uuid, sizeof process->uuid);
    dw_buffer_put(payload, process->pid);
    put_clock(payload, &process->first_clock);
    dw_put_properties(payload, process->properties, process->property_count, strings);
    dw_log_chunk_write(writer, DW_CHUNK_PROCESS);
}

void dw_log_write_properties(struct dw_log_writer *writer, uint32_t id,
                             const struct dw_process *process,
                             const struct dw_string_table *strings)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, id);
    dw_put_properties(payload, process->properties, process->property_count, strings);
    dw_log_chunk_write(writer, DW_CHUNK_PROPERTIES);
}

void dw_log_write_clock(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_clock_pair *now)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, process);
    put_clock(payload, now);
    dw_log_chunk_write(writer, DW_CHUNK_CLOCK);
}

void dw_log_write_end(struct dw_log_writer *writer, uint32_t process, uint64_t dropped,
                      bool is_reported)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, process);
    dw_buffer_put(payload, dropped);
    if (is_reported)
        dw_buffer_put(payload, 1);
    dw_log_chunk_write(writer, DW_CHUNK_END);
}

void dw_log_write_strings(struct dw_log_writer *writer, const struct dw_string_table *strings,
                          uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_STRINGS, first, strings->count,
                   dw_put_string(payload, dw_string_bounded(strings->strings[at])))
}

static void put_frame(struct dw_buffer *payload, const struct dw_frame *frame)
{
    dw_buffer_put(payload, frame->kind);
    dw_buffer_put(payload, frame->name);
    dw_buffer_put(payload, frame->file);
    dw_buffer_put(payload, frame->line);
}

void dw_log_write_frames(struct dw_log_writer *writer, const struct dw_frame_table *frames,
                         uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_FRAMES, first, frames->count, put_frame(payload, &frames->frames[at]))
}

void dw_log_write_thread(struct dw_log_writer *writer, uint32_t id, uint32_t process, uint64_t tid,
                         struct dw_string name)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, id);
    dw_buffer_put(payload, process);
    dw_buffer_put(payload, tid);
    dw_put_string(payload, dw_string_bounded(name));
    dw_log_chunk_write(writer, DW_CHUNK_THREAD);
}

void dw_log_write_source(struct dw_log_writer *writer, struct dw_string file, struct dw_string text)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_put_string(payload, file);
    dw_put_string(payload, dw_string_bounded(text));
    dw_log_chunk_write(writer, DW_CHUNK_SOURCE);
}

static int read_source(const struct dw_log_writer *writer, dw_string_id id, const char *name,
                       struct dw_file *file)
{
    const struct dw_source_reader *reader = writer->source_reader;
    return reader ? reader->read(reader->context, id, DW_STRING_MAX, file)
                  : dw_file_open_head(name, DW_STRING_MAX, file);
}

void dw_log_write_source_file(struct dw_log_writer *writer, dw_string_id id, struct dw_string name)
{
    struct dw_file file;
    if (dw_redacts(DW_REDACT_SOURCES) || read_source(writer, id, name.bytes, &file))
        return;
    dw_log_write_source(writer, name, (struct dw_string){(const char *)file.data, file.size});
    dw_file_close(&file);
}
