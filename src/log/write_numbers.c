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

void dw_log_values_begin(struct dw_log_writer *writer, uint32_t thread)
{
    writer->values_thread = thread;
    writer->values_count = 0;
    dw_buffer_put(dw_log_chunk_begin(writer), thread);
}

static void put_histogram(struct dw_buffer *payload, const struct dw_histogram *histogram)
{
    uint32_t previous = 0;
    dw_buffer_put(payload, histogram->count);
    for (uint32_t i = 0; i < histogram->count; i++) {
        dw_buffer_put(payload, histogram->entries[i].bucket - previous);
        dw_buffer_put(payload, histogram->entries[i].count);
        previous = histogram->entries[i].bucket;
    }
}

/* Open entries are stored as the sum of their starts: while nothing else happens the
 * numbers stay the same, and the log need not be told again. */
void dw_log_values_add(struct dw_log_writer *writer, dw_path_id path,
                       const struct dw_metric *metric, uint64_t as_of)
{
    struct dw_buffer *payload = &writer->payload;
    uint64_t numbers[] = {path,
                          metric->count,
                          metric->total - metric->open_total,
                          metric->suspended,
                          metric->children,
                          metric->cpu,
                          metric->min,
                          metric->max,
                          metric->open,
                          metric->open * as_of - metric->open_total,
                          (uint64_t)metric->sum_squares,
                          (uint64_t)(metric->sum_squares >> 64)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_buffer_put(payload, numbers[i]);
    put_histogram(payload, &metric->histogram);
    writer->values_count++;
    if (payload->size < DW_CHUNK_TARGET)
        return;
    dw_log_values_end(writer);
    dw_log_values_begin(writer, writer->values_thread);
}

void dw_log_values_end(struct dw_log_writer *writer)
{
    if (writer->values_count)
        dw_log_chunk_write(writer, DW_CHUNK_VALUES);
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
