/* SPDX-License-Identifier: MIT
 * As versions before the one tree of paths wrote them. */
#include "old_chunks.h"

#include "base/varint.h"
#include "log/writing.h"

void dw_log_write_paths(struct dw_log_writer *writer, const struct dw_path_tree *paths,
                        uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_PATHS, first, paths->count, dw_put_path(payload, &paths->paths[at]))
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
        dw_buffer_put(payload, dw_histogram_entries(histogram)[i].bucket - previous);
        dw_buffer_put(payload, dw_histogram_entries(histogram)[i].count);
        previous = dw_histogram_entries(histogram)[i].bucket;
    }
}

/* Open entries are stored as the sum of their starts: while nothing else happens the
 * numbers stay the same, and the log need not be told again. */
void dw_log_values_add(struct dw_log_writer *writer, dw_path_id path,
                       const struct dw_metric *metric, uint64_t as_of)
{
    static const struct dw_spread none;
    const struct dw_spread *spread = metric->spread ? metric->spread : &none;
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
                          (uint64_t)spread->sum_squares,
                          (uint64_t)(spread->sum_squares >> 64)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_buffer_put(payload, numbers[i]);
    put_histogram(payload, &spread->histogram);
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
