/* SPDX-License-Identifier: MIT
 * Rows of values, and what they speak of: measures, labels, the one tree of paths. */
#include "log/writing.h"

#include "base/varint.h"

#include <string.h>

void dw_log_write_measures(struct dw_log_writer *writer, dw_measure_mask in_ticks)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    for (uint32_t i = 0; i < DW_MEASURES; i++) {
        const struct dw_measure_info *info = &dw_measures[i];
        dw_buffer_put(payload, i);
        dw_buffer_put_blob(payload, info->name, strlen(info->name));
        dw_buffer_put(payload, in_ticks & DW_MASK(i) ? DW_UNIT_TICKS : info->unit);
        dw_buffer_put(payload, info->adding);
    }
    dw_log_chunk_write(writer, DW_CHUNK_MEASURES);
}

static void put_labels(struct dw_buffer *payload, const struct dw_label_table *table,
                       const struct dw_label_set *set)
{
    dw_buffer_put(payload, set->state);
    dw_buffer_put(payload, set->count);
    for (uint32_t i = 0; i < set->count; i++) {
        dw_buffer_put(payload, table->pairs[set->first + i].key);
        dw_buffer_put(payload, table->pairs[set->first + i].value);
    }
}

void dw_log_write_labels(struct dw_log_writer *writer, const struct dw_label_table *labels,
                         uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_LABELS, first, labels->count,
                   put_labels(payload, labels, &labels->sets[at]))
}

void dw_log_write_tree(struct dw_log_writer *writer, const struct dw_path_tree *paths,
                       uint32_t first)
{
    DW_WRITE_TABLE(DW_CHUNK_TREE, first, paths->count, dw_put_path(payload, &paths->paths[at]))
}

void dw_log_rows_begin(struct dw_log_writer *writer, uint32_t thread)
{
    writer->values_thread = thread;
    writer->values_count = 0;
    dw_buffer_put(dw_log_chunk_begin(writer), thread);
}

static void put_spread(struct dw_buffer *payload, const struct dw_spread *spread)
{
    const struct dw_histogram_entry *entries = dw_histogram_entries(&spread->histogram);
    uint64_t previous = 0;
    dw_buffer_put(payload, (uint64_t)spread->sum_squares);
    dw_buffer_put(payload, (uint64_t)(spread->sum_squares >> 64));
    dw_buffer_put(payload, spread->histogram.count);
    for (uint32_t i = 0; i < spread->histogram.count; i++) {
        dw_buffer_put(payload, entries[i].bucket - previous);
        dw_buffer_put(payload, entries[i].count);
        previous = entries[i].bucket;
    }
}

static void count_row(struct dw_log_writer *writer)
{
    writer->values_count++;
    if (writer->payload.size < DW_CHUNK_TARGET)
        return;
    dw_log_rows_end(writer);
    dw_log_rows_begin(writer, writer->values_thread);
}

void dw_log_rows_add(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                     dw_measure_mask mask, const uint64_t *numbers, const struct dw_spread *spread)
{
    struct dw_buffer *payload = &writer->payload;
    dw_buffer_put(payload, path);
    dw_buffer_put(payload, (uint64_t)labels << 1 | (spread != NULL));
    dw_buffer_put(payload, mask);
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1)
        dw_buffer_put(payload, *numbers++);
    if (spread)
        put_spread(payload, spread);
    count_row(writer);
}

void dw_log_rows_copy(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                      dw_measure_mask mask, bool has_spread, const uint8_t *bytes, size_t size)
{
    uint8_t *start = dw_buffer_reserve(&writer->payload, 3 * DW_VARINT_MAX + size);
    if (!start)
        return;
    uint8_t *at = dw_varint_put(start, path);
    at = dw_varint_put(at, (uint64_t)labels << 1 | has_spread);
    at = dw_varint_put(at, mask);
    if (size)
        memcpy(at, bytes, size);
    writer->payload.size += (size_t)(at - start) + size;
    count_row(writer);
}

void dw_log_rows_end(struct dw_log_writer *writer)
{
    if (writer->values_count)
        dw_log_chunk_write(writer, DW_CHUNK_ROWS);
    writer->values_count = 0;
}

void dw_timed_row_put(struct dw_buffer *bytes, uint64_t delta_ns, dw_path_id path,
                      dw_labels_id labels, uint64_t weight_ns)
{
    dw_buffer_put(bytes, delta_ns);
    dw_buffer_put(bytes, path);
    dw_buffer_put(bytes, labels);
    dw_buffer_put(bytes, weight_ns);
}

void dw_log_write_timed_rows(struct dw_log_writer *writer, uint32_t thread, uint64_t base_ns,
                             const struct dw_buffer *bytes)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    dw_buffer_put(payload, thread);
    dw_buffer_put(payload, base_ns);
    dw_buffer_append(payload, bytes->data, bytes->size);
    dw_log_chunk_write(writer, DW_CHUNK_TIMED_ROWS);
}
