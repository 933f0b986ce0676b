/* SPDX-License-Identifier: MIT
 * Ways from roots to objects, by roots that have names where there are any. */
#ifndef DW_MODEL_HEAP_HEAP_WAYS_H
#define DW_MODEL_HEAP_HEAP_WAYS_H

#include "model/heap/heap_picture.h"

/* The node before each on its way, 0 for the first, DW_HEAP_NONE for garbage: of the ways from
 * globals and running functions a shortest, else of those from whatever C code holds. Does not need
 * the GIL. */
int dw_heap_find_ways(const struct dw_heap *heap, dw_heap_node *parents);

#endif
