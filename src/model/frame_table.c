/* SPDX-License-Identifier: MIT
 * Frames are found by a hash of all that they consist of. */
#include "model/frame_table.h"

#include "base/intern.h"

#include <string.h>

#define ROOT_NAME "<main>"

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
    return DW_INTERN(table->frames, table->count, table->capacity, table->index, sizeof *frame,
                     frame, id);
}
