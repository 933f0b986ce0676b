/* SPDX-License-Identifier: MIT
 * Who made the objects of a picture: the join with the allocations that are recorded. */
#ifndef DW_PROBE_HEAP_MAKERS_H
#define DW_PROBE_HEAP_MAKERS_H

#include "model/heap/heap_picture.h"

/* Fills the sites of a picture that was just taken, when allocations are recorded. With the GIL.
 * 0 or an error. */
int dw_heap_find_makers(struct dw_heap *heap);
/* Whether allocations are recorded, so that makers can be found. */
bool dw_heap_has_makers(void);

#endif
