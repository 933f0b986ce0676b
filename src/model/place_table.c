/* SPDX-License-Identifier: MIT
 * Places are found by a hash of all that they consist of. */
#include "model/place_table.h"

#include "base/grow.h"

static uint64_t hash_place(const struct dw_place *place)
{
    uint64_t lines = dw_hash_mix((uint64_t)place->line << 32 | place->column);
    uint64_t ends = dw_hash_mix(((uint64_t)place->end_line << 32 | place->end_column) ^ lines);
    uint64_t code = dw_hash_mix(((uint64_t)place->frame << 32 | place->module) ^ ends);
    return dw_hash_mix(dw_hash_mix(code ^ place->address) ^ place->outer);
}

static bool equal(const void *places, uint32_t id, const void *key)
{
    const struct dw_place *a = (const struct dw_place *)places + id, *b = key;
    return a->frame == b->frame && a->line == b->line && a->end_line == b->end_line &&
           a->column == b->column && a->end_column == b->end_column && a->module == b->module &&
           a->address == b->address && a->outer == b->outer;
}

static uint64_t hash_of(const void *places, uint32_t id)
{
    return hash_place((const struct dw_place *)places + id);
}

int dw_place_table_init(struct dw_place_table *table)
{
    *table = (struct dw_place_table){0};
    dw_place_id none;
    return dw_place_intern(table, &(struct dw_place){0}, &none);
}

void dw_place_table_release(struct dw_place_table *table)
{
    free(table->places);
    dw_map_release(&table->index);
    *table = (struct dw_place_table){0};
}

int dw_place_intern(struct dw_place_table *table, const struct dw_place *place, dw_place_id *id)
{
    uint64_t hash = hash_place(place);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->places, place);
    if (found != DW_MAP_NONE) {
        *id = found;
        return 0;
    }
    int error = DW_GROW(table->places, table->count, table->capacity);
    if (error)
        return error;
    table->places[table->count] = *place;
    error = dw_map_add(&table->index, hash, table->count, hash_of, table->places);
    if (!error)
        *id = table->count++;
    return error;
}
