/* SPDX-License-Identifier: MIT
 * Interned frames: a place that time can be spent in. Id 0 is the root. */
#ifndef DW_MODEL_FRAME_TABLE_H
#define DW_MODEL_FRAME_TABLE_H

#include "model/string_table.h"

typedef uint32_t dw_frame_id;

/* Numbers are part of the log format. */
enum dw_frame_kind {
    DW_FRAME_ROOT = 0,     /* where every path begins */
    DW_FRAME_REGION = 1,   /* a marked region; file and line only when it named itself */
    DW_FRAME_COUNTER = 2,  /* a counter: its total is a sum, not a time */
    DW_FRAME_INSTANT = 3,  /* a point in time */
    DW_FRAME_FUNCTION = 4, /* Python code, with its file and first line */
    DW_FRAME_BUILTIN = 5,  /* a C function */
    DW_FRAME_NATIVE = 6,   /* code of a shared object or program; its file is that object, or the
                              source when that is known; named [object] without a symbol */
    DW_FRAME_MARK = 7,     /* no function: <gc>, <kernel>, <truncated> and the like */
    DW_FRAME_TYPE = 8,     /* of objects on the heap; model/prepare/heap_paths.h */
    DW_FRAME_OBJECT = 9,   /* one that holds others there, named by the way to it */
};

/* Whether time is spent in it, so that it belongs in a table of times. */
static inline bool dw_frame_kind_takes_time(uint32_t kind)
{
    return kind != DW_FRAME_COUNTER && kind != DW_FRAME_INSTANT;
}

struct dw_frame {
    uint32_t kind;
    uint32_t line; /* 0: none */
    dw_string_id name;
    dw_string_id file; /* 0: none */
};

struct dw_frame_table {
    struct dw_frame *frames;
    uint32_t count;
    uint32_t capacity;
    struct dw_map index;
};

/* Both tables, with the root's name and frame in them. */
int dw_frame_table_init(struct dw_frame_table *table, struct dw_string_table *strings);
void dw_frame_table_release(struct dw_frame_table *table);
int dw_frame_intern(struct dw_frame_table *table, const struct dw_frame *frame, dw_frame_id *id);

#endif
