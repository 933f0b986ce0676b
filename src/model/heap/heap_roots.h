/* SPDX-License-Identifier: MIT
 * What holds objects from outside of the graph. */
#ifndef DW_MODEL_HEAP_HEAP_ROOTS_H
#define DW_MODEL_HEAP_HEAP_ROOTS_H

#include "model/heap/heap_picture.h"

/* Of a picture whose `outside` has all references to each object: takes those off that nodes have,
 * and makes the list of roots. What more refer to than nodes do is held from outside; so is what
 * never dies, and so are frames. 0 or DW_ERR_MEMORY. */
int dw_heap_find_roots(struct dw_heap *heap);

#endif
