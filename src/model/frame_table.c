/* SPDX-License-Identifier: MIT */
#include "model/frame_table.h"

#include "base/grow.h"

#include <string.h>

static bool equal(const void *entries, uint32_t id, const void *key)
{
    return memcmp((const struct dw_frame *)entries + id, key, sizeof(struct dw_frame)) == 0;
}

static uint64_t hash_of(const void *entries, uint32_t id)
{
    return dw_hash_bytes((const struct dw_frame *)entries + id, sizeof(struct dw_frame));
}

int dw_frame_table_init(struct dw_frame_table *table, dw_string_id root_name)
{
    *table = (struct dw_frame_table){0};
    struct dw_frame root = {.kind = DW_FRAME_ROOT, .name = root_name};
    dw_frame_id id;
    return dw_frame_intern(table, &root, &id);
}

void dw_frame_table_release(struct dw_frame_table *table)
{
    free(table->frames);
    dw_map_release(&table->index);
    *table = (struct dw_frame_table){0};
}

int dw_frame_intern(struct dw_frame_table *table, const struct dw_frame *frame, dw_frame_id *id)
{
    uint64_t hash = dw_hash_bytes(frame, sizeof *frame);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->frames, frame);
    if (found != DW_MAP_NONE) {
        *id = found;
        return 0;
    }
    int error = DW_GROW(table->frames, table->count, table->capacity);
    if (error)
        return error;
    table->frames[table->count] = *frame;
    error = dw_map_add(&table->index, hash, table->count, hash_of, table->frames);
    if (!error)
        *id = table->count++;
    return error;
}
