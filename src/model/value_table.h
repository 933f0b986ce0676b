/* SPDX-License-Identifier: MIT
 * What was measured on paths under labels, by one thread. A row has the measures that its mask
 * names, and no room for others: a program has a million paths, and each probe fills a few. */
#ifndef DW_MODEL_VALUE_TABLE_H
#define DW_MODEL_VALUE_TABLE_H

#include "base/buffer.h"
#include "model/histogram.h"
#include "model/label_table.h"
#include "model/measure.h"
#include "model/path_tree.h"

struct dw_value_row {
    dw_path_id path;
    dw_labels_id labels;
    dw_measure_mask mask;
    uint32_t first;  /* of its numbers, one for each bit of the mask, the lowest first */
    uint32_t spread; /* 1 + index into the spreads; 0: none */
};

struct dw_value_table {
    struct dw_value_row *rows;
    uint32_t count, capacity;
    uint64_t *numbers;
    uint32_t number_count, number_capacity;
    struct dw_spread *spreads;
    uint32_t spread_count, spread_capacity;
    bool is_mixed;       /* keys of rows do not rise */
    struct dw_map index; /* then: of the first `indexed` rows; it follows when somebody asks */
    uint32_t indexed;
    struct dw_buffer copied; /* rows as their log has them: log/copied_rows.h */
    dw_measure_mask mask;    /* the measures that were told of some row */
    uint64_t last_key;       /* for the reader: the highest key of a row in its log */
    uint32_t next;           /* rows are asked for in the order that they came in, mostly */
};

void dw_value_table_release(struct dw_value_table *table);
/* A row of a key that no other has. */
int dw_value_row_append(struct dw_value_table *table, dw_path_id path, dw_labels_id labels,
                        uint32_t *row);
/* The row of that key, made when absent. */
int dw_value_row_get(struct dw_value_table *table, dw_path_id path, dw_labels_id labels,
                     uint32_t *row);
/* Gives the row these numbers, one for each bit of the mask; what it has of other measures stays.
 */
int dw_value_row_set(struct dw_value_table *table, uint32_t row, dw_measure_mask mask,
                     const uint64_t *numbers);
/* Adds them to what the row has, each as its measure adds up. */
int dw_value_row_add(struct dw_value_table *table, uint32_t row, dw_measure_mask mask,
                     const uint64_t *numbers);
/* The spread of a row, made when absent; NULL when out of memory. Valid until the next call. */
struct dw_spread *dw_value_row_spread(struct dw_value_table *table, uint32_t row);
/* Adds a row, or all rows, of another table. The row's path and labels may have been changed. */
int dw_value_row_merge(struct dw_value_table *into, const struct dw_value_table *from,
                       const struct dw_value_row *row);
int dw_value_table_merge(struct dw_value_table *into, const struct dw_value_table *from);

/* Most entries have never slept and have ended: that a row lacks these means that they are 0. */
#define DW_SPARSE_MASK                                                                             \
    (DW_MASK(DW_SUSPENDED) | DW_MASK(DW_CHILDREN) | DW_MASK(DW_OPEN) | DW_MASK(DW_OPEN_TOTAL))

/* The measures that the row was told to have. */
static inline dw_measure_mask dw_value_told(const struct dw_value_table *table,
                                            const struct dw_value_row *row)
{
    bool is_entry = row->mask & DW_MASK(DW_COUNT);
    return row->mask | (is_entry ? table->mask & DW_SPARSE_MASK : 0);
}

/* Where a measure of the row is; NULL when the row has none of it. */
static inline uint64_t *dw_value_at(const struct dw_value_table *table,
                                    const struct dw_value_row *row, enum dw_measure measure)
{
    if (!(row->mask & DW_MASK(measure)))
        return NULL;
    uint64_t below = row->mask & (DW_MASK(measure) - 1);
    return &table->numbers[row->first + (uint32_t)__builtin_popcountll(below)];
}

static inline uint64_t dw_value_get(const struct dw_value_table *table,
                                    const struct dw_value_row *row, enum dw_measure measure)
{
    const uint64_t *at = dw_value_at(table, row, measure);
    return at ? *at : 0;
}

#endif
