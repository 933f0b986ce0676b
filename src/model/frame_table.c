/* SPDX-License-Identifier: MIT
 * Frames are found by a hash of all that they consist of. */
#include "model/frame_table.h"

#include "base/grow.h"

#include <string.h>

#define ROOT_NAME "<main>"

static bool equal(const void *entries, uint32_t id, const void *key)
{
    return memcmp((const struct dw_frame *)entries + id, key, sizeof(struct dw_frame)) == 0;
}

static uint64_t hash_of(const void *entries, uint32_t id)
{
    return dw_hash_bytes((const struct dw_frame *)entries + id, sizeof(struct dw_frame));
}

int dw_frame_table_init(struct dw_frame_table *table, struct dw_string_table *strings)
{
    struct dw_frame root = {.kind = DW_FRAME_ROOT};
    dw_frame_id id;
    *table = (struct dw_frame_table){0};
    int error = dw_string_table_init(strings);
    if (!error)
        error = dw_string_intern(strings, ROOT_NAME, strlen(ROOT_NAME), &root.name);
    return error ? error : dw_frame_intern(table, &root, &id);
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
