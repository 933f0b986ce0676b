/* SPDX-License-Identifier: MIT
 * Numbers of all rows lie in one array. A row that gets more measures than it had moves to the end
 * of it and leaves a hole. A row never has less measures than before, so it does so only a few
 * times. */
#include "model/value_table.h"

#include "base/grow.h"

struct row_key {
    dw_path_id path;
    dw_labels_id labels;
};

/* Paths tend to come in the order of their ids, so neighbours are neighbours in the index too. */
static uint64_t hash_key(dw_path_id path, dw_labels_id labels)
{
    return dw_hash_mix((uint64_t)labels << 32 | path / 8) << 3 | path % 8;
}

static uint64_t key_of(dw_path_id path, dw_labels_id labels)
{
    return (uint64_t)path << 32 | labels;
}

static bool equal(const void *rows, uint32_t id, const void *key)
{
    const struct dw_value_row *row = (const struct dw_value_row *)rows + id;
    const struct row_key *wanted = key;
    return row->path == wanted->path && row->labels == wanted->labels;
}

void dw_value_table_release(struct dw_value_table *table)
{
    for (uint32_t i = 0; i < table->spread_count; i++)
        dw_histogram_release(&table->spreads[i].histogram);
    free(table->rows);
    free(table->numbers);
    free(table->spreads);
    dw_map_release(&table->index);
    dw_buffer_release(&table->copied);
    *table = (struct dw_value_table){0};
}

int dw_value_row_append(struct dw_value_table *table, dw_path_id path, dw_labels_id labels,
                        uint32_t *row)
{
    int error = DW_GROW(table->rows, table->count, table->capacity);
    if (error)
        return error;
    struct dw_value_row *added = &table->rows[table->count];
    *added = (struct dw_value_row){.path = path, .labels = labels};
    table->is_mixed |=
        table->count && key_of(path, labels) <= key_of(added[-1].path, added[-1].labels);
    *row = table->count++;
    return 0;
}

static int complete_index(struct dw_value_table *table)
{
    int error = 0;
    for (; table->indexed < table->count && !error; table->indexed += !error) {
        const struct dw_value_row *row = &table->rows[table->indexed];
        error = dw_map_put(&table->index, hash_key(row->path, row->labels), table->indexed);
    }
    return error;
}

/* Among rows whose keys rise. */
static uint32_t search(const struct dw_value_table *table, const struct row_key *key)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct dw_value_row *row = &table->rows[middle];
        if (key_of(row->path, row->labels) < key_of(key->path, key->labels))
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && equal(table->rows, low, key) ? low : DW_MAP_NONE;
}

int dw_value_row_get(struct dw_value_table *table, dw_path_id path, dw_labels_id labels,
                     uint32_t *row)
{
    struct row_key key = {path, labels};
    uint32_t found = table->next;
    if (found >= table->count || !equal(table->rows, found, &key)) {
        int error = table->is_mixed ? complete_index(table) : 0;
        if (error)
            return error;
        found = table->is_mixed
                    ? dw_map_find(&table->index, hash_key(path, labels), equal, table->rows, &key)
                    : search(table, &key);
    }
    if (found == DW_MAP_NONE) {
        int error = dw_value_row_append(table, path, labels, &found);
        if (error)
            return error;
    }
    table->next = found + 1;
    *row = found;
    return 0;
}

/* Room for so many numbers at the end. */
static int make_room(struct dw_value_table *table, uint32_t count)
{
    if (count > UINT32_MAX - table->number_count)
        return DW_ERR_TOO_LARGE;
    while (table->number_capacity < table->number_count + count) {
        int error =
            dw_grow((void **)&table->numbers, &table->number_capacity, sizeof *table->numbers);
        if (error)
            return error;
    }
    return 0;
}

/* Gives the row room for the measures of the mask. What it has of them stays, others are 0. */
static int reshape(struct dw_value_table *table, struct dw_value_row *row, dw_measure_mask mask)
{
    uint32_t count = (uint32_t)__builtin_popcountll(mask), at = table->number_count;
    int error = mask == row->mask ? 0 : make_room(table, count);
    if (error || mask == row->mask)
        return error;
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1)
        table->numbers[table->number_count++] =
            dw_value_get(table, row, (enum dw_measure)__builtin_ctzll(rest));
    row->first = at;
    row->mask = mask;
    table->mask |= mask;
    return 0;
}

int dw_value_row_set(struct dw_value_table *table, uint32_t index, dw_measure_mask mask,
                     const uint64_t *numbers)
{
    struct dw_value_row *row = &table->rows[index];
    int error = reshape(table, row, row->mask | mask);
    uint32_t at = row->first;
    for (dw_measure_mask rest = error ? 0 : row->mask; rest; rest &= rest - 1, at++)
        if (rest & -rest & mask)
            table->numbers[at] = *numbers++;
    return error;
}

int dw_value_row_add(struct dw_value_table *table, uint32_t index, dw_measure_mask mask,
                     const uint64_t *numbers)
{
    struct dw_value_row *row = &table->rows[index];
    int error = reshape(table, row, row->mask | mask);
    for (dw_measure_mask rest = mask; rest && !error; rest &= rest - 1) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        uint64_t *at = dw_value_at(table, row, measure);
        *at = dw_measure_add(measure, *at, *numbers++);
    }
    return error;
}

struct dw_spread *dw_value_row_spread(struct dw_value_table *table, uint32_t index)
{
    struct dw_value_row *row = &table->rows[index];
    if (!row->spread) {
        if (DW_GROW(table->spreads, table->spread_count, table->spread_capacity))
            return NULL;
        table->spreads[table->spread_count++] = (struct dw_spread){0};
        row->spread = table->spread_count;
    }
    return &table->spreads[row->spread - 1];
}

int dw_value_row_merge(struct dw_value_table *into, const struct dw_value_table *from,
                       const struct dw_value_row *row)
{
    uint32_t index;
    int error = dw_value_row_get(into, row->path, row->labels, &index);
    if (!error && row->mask)
        error = dw_value_row_add(into, index, row->mask, &from->numbers[row->first]);
    into->mask |= error ? 0 : dw_value_told(from, row);
    if (error || !row->spread)
        return error;
    struct dw_spread *spread = dw_value_row_spread(into, index);
    return spread ? dw_spread_merge(spread, &from->spreads[row->spread - 1]) : DW_ERR_MEMORY;
}

int dw_value_table_merge(struct dw_value_table *into, const struct dw_value_table *from)
{
    int error = 0;
    for (uint32_t i = 0; i < from->count && !error; i++)
        error = dw_value_row_merge(into, from, &from->rows[i]);
    return error;
}
