/* SPDX-License-Identifier: MIT
 * Sets of labels are few and small: one is compared pair by pair with those of the same hash. */
#include "model/label_table.h"

#include "base/grow.h"

struct candidate {
    const struct dw_label_table *table;
    uint32_t state;
    const struct dw_label *pairs;
    uint32_t count;
};

static uint64_t hash_labels(uint32_t state, const struct dw_label *pairs, uint32_t count)
{
    uint64_t hash = dw_hash_mix(state);
    for (uint32_t i = 0; i < count; i++)
        hash = dw_hash_mix(hash ^ ((uint64_t)pairs[i].key << 32 | pairs[i].value));
    return hash;
}

static bool equal(const void *context, uint32_t id, const void *key)
{
    const struct dw_label_table *table = context;
    const struct candidate *wanted = key;
    const struct dw_label_set *set = &table->sets[id];
    if (set->state != wanted->state || set->count != wanted->count)
        return false;
    return !set->count ||
           !memcmp(&table->pairs[set->first], wanted->pairs, set->count * sizeof *wanted->pairs);
}

int dw_label_table_init(struct dw_label_table *table)
{
    dw_labels_id none;
    *table = (struct dw_label_table){0};
    return dw_labels_intern(table, 0, NULL, 0, &none);
}

void dw_label_table_release(struct dw_label_table *table)
{
    free(table->sets);
    free(table->pairs);
    dw_map_release(&table->index);
    *table = (struct dw_label_table){0};
}

/* In order of key, the last of each; returns how many are left. */
static uint32_t sort_pairs(struct dw_label *sorted, const struct dw_label *pairs, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = kept;
        while (at && sorted[at - 1].key > pairs[i].key)
            at--;
        if (at && sorted[at - 1].key == pairs[i].key) {
            sorted[at - 1] = pairs[i];
            continue;
        }
        memmove(&sorted[at + 1], &sorted[at], (kept++ - at) * sizeof *sorted);
        sorted[at] = pairs[i];
    }
    return kept;
}

static int add_set(struct dw_label_table *table, const struct candidate *added, uint64_t hash)
{
    int error = DW_GROW(table->sets, table->count, table->capacity);
    uint32_t first = table->pair_count;
    for (uint32_t i = 0; i < added->count && !error; i++) {
        error = DW_GROW(table->pairs, table->pair_count, table->pair_capacity);
        if (!error)
            table->pairs[table->pair_count++] = added->pairs[i];
    }
    if (!error) {
        table->sets[table->count] = (struct dw_label_set){added->state, first, added->count};
        error = dw_map_put(&table->index, hash, table->count);
    }
    if (error)
        table->pair_count = first;
    return error;
}

int dw_labels_intern(struct dw_label_table *table, uint32_t state, const struct dw_label *pairs,
                     uint32_t count, dw_labels_id *id)
{
    struct dw_label sorted[DW_LABELS_MAX];
    if (count > DW_LABELS_MAX)
        return DW_ERR_TOO_LARGE;
    struct candidate wanted = {table, state, sorted, sort_pairs(sorted, pairs, count)};
    uint64_t hash = hash_labels(state, sorted, wanted.count);
    uint32_t found = dw_map_find(&table->index, hash, equal, table, &wanted);
    if (found == DW_MAP_NONE) {
        int error = add_set(table, &wanted, hash);
        if (error)
            return error;
        found = table->count++;
    }
    *id = found;
    return 0;
}

dw_string_id dw_labels_value(const struct dw_label_table *table, dw_labels_id id, dw_string_id key)
{
    const struct dw_label_set *set = &table->sets[id];
    for (uint32_t i = 0; i < set->count; i++)
        if (table->pairs[set->first + i].key == key)
            return table->pairs[set->first + i].value;
    return 0;
}
