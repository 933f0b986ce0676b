/* SPDX-License-Identifier: MIT
 * Places in code, finer than frames: the line and columns that a Python function had reached,
 * the address in a native one. Samples are stacks of them. Id 0 stands for no place. */
#ifndef DW_MODEL_PLACE_TABLE_H
#define DW_MODEL_PLACE_TABLE_H

#include "model/frame_table.h"

typedef uint32_t dw_place_id;

struct dw_place {
    dw_frame_id frame;
    uint32_t line, end_line;     /* 0: unknown */
    uint32_t column, end_column; /* in bytes, from 1 on; 0: unknown */
    uint32_t module;             /* of native code: 1 + index into the modules; 0: none */
    uint64_t address;            /* of native code, see below */
    dw_place_id outer;           /* the place that this one was inlined into; 0: none */
};

/* Addresses are as the file of the module counts them: in memory less the module's bias. That of
 * a caller is inside its call instruction, the return address less 1, so that it belongs to the
 * line and to the inlined functions of the call even when the call is the last thing in them. */

struct dw_place_table {
    struct dw_place *places;
    uint32_t count, capacity;
    struct dw_map index;
};

int dw_place_table_init(struct dw_place_table *table);
void dw_place_table_release(struct dw_place_table *table);
int dw_place_intern(struct dw_place_table *table, const struct dw_place *place, dw_place_id *id);

#endif
