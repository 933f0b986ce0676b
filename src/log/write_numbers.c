/* SPDX-License-Identifier: MIT
 * What was counted and timed, and the events themselves. */
#include "log/writing.h"

#include "base/varint.h"

/* The metrics that are 0 are left out: a mask says which are there. */
static void put_line(struct dw_buffer *payload, const struct dw_line *line)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        mask |= (uint64_t)(line->values[i] != 0) << i;
    dw_buffer_put(payload, line->function);
    dw_buffer_put(payload, line->line);
    dw_buffer_put(payload, line->callee);
    dw_buffer_put(payload, mask);
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        if (line->values[i])
            dw_buffer_put(payload, line->values[i]);
}

void dw_log_write_lines(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_line_table *lines, uint32_t first)
{
    for (uint32_t id = first; id < lines->count && !writer->error;) {
        struct dw_buffer *payload = dw_log_chunk_begin(writer);
        dw_buffer_put(payload, process);
        while (id < lines->count && payload->size < DW_CHUNK_TARGET)
            put_line(payload, &lines->lines[id++]);
        dw_log_chunk_write(writer, DW_CHUNK_LINES);
    }
}

void dw_log_write_timing(struct dw_log_writer *writer, const struct dw_timing *timing,
                         const struct dw_string_table *strings)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, timing->process);
    dw_put_string(payload, dw_string_bounded(strings->strings[timing->name]));
    dw_put_properties(payload, timing->properties, timing->property_count, strings);
    dw_buffer_put(payload, timing->loops);
    dw_buffer_put(payload, timing->run_count);
    for (uint32_t i = 0; i < timing->run_count; i++)
        dw_buffer_put(payload, timing->runs_ns[i]);
    dw_log_chunk_write(writer, DW_CHUNK_TIMINGS);
}

void dw_log_write_events(struct dw_log_writer *writer, uint32_t thread, uint32_t sequence,
                         uint64_t base_tick, dw_path_id top, const uint8_t *events, size_t size)
{
    uint8_t prefix[4 * DW_VARINT_MAX];
    uint8_t *end = dw_varint_put(prefix, thread);
    end = dw_varint_put(end, sequence);
    end = dw_varint_put(end, base_tick);
    end = dw_varint_put(end, top);
    dw_buffer_append(dw_log_chunk_begin(writer), events, size);
    dw_log_chunk_write_prefixed(writer, DW_CHUNK_EVENTS, prefix, (size_t)(end - prefix));
}
