/* SPDX-License-Identifier: MIT
 * How the objects of another process hold each other: attributes, keys, indices. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_STEPS_H
#define DW_ATTACH_HEAP_OUTSIDE_STEPS_H

#include "attach/heap/outside_edges.h"
#include "model/heap/heap_picture.h"

/* Names the last step of the way to each node; `numbers` are those of the objects, `modules` is
 * sys.modules. Of keys only identifiers are read. */
int dw_outside_name_steps(struct dw_outside_types *types, const struct dw_address_map *numbers,
                          uint64_t modules, struct dw_heap *heap);

#endif
