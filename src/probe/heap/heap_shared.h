/* SPDX-License-Identifier: MIT
 * Memory that several objects show gets nodes of its own, one for each piece, so that it counts
 * once and is retained by whoever holds all that show it. */
#ifndef DW_PROBE_HEAP_SHARED_H
#define DW_PROBE_HEAP_SHARED_H

#include "cpython/heap/heap_buffers.h"
#include "model/heap/heap_picture.h"

/* An object shows a piece of memory. */
struct dw_heap_shown {
    dw_heap_node node;
    uint32_t piece;
    uintptr_t start;
    size_t bytes;
    bool is_storage;
};

struct dw_heap_piece {
    uintptr_t start;
    size_t bytes;
    dw_heap_node owner; /* the object whose memory it is; 0: none */
    uint32_t storages;  /* of PyTorch, each of which holds the owner */
};

/* Zero-initialised is empty. */
struct dw_heap_shared {
    struct dw_heap_shown *shown;  /* in the order of nodes */
    struct dw_heap_piece *pieces; /* sorted by their starts */
    uint32_t shown_count, shown_capacity, piece_count;
    dw_heap_node node; /* which is asked now */
    bool is_storage;   /* of PyTorch */
};

/* Asks an object what it shows; nodes come in ascending order. */
int dw_heap_show(struct dw_heap_shared *shared, dw_heap_node node, PyObject *object,
                 enum dw_py_showing showing);
int dw_heap_shared_sort(struct dw_heap_shared *shared);
/* Says that memory belongs to a node, whose size has it already. */
void dw_heap_own(struct dw_heap_shared *shared, dw_heap_node node, uintptr_t start, size_t bytes);
/* Adds the pieces to the graph; before its roots are looked for. */
int dw_heap_add_shared(struct dw_heap *heap, struct dw_heap_shared *shared);
void dw_heap_shared_release(struct dw_heap_shared *shared);

#endif
