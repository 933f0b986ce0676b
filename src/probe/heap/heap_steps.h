/* SPDX-License-Identifier: MIT
 * The names of the references on ways, for a picture that goes into a log: there are no objects to
 * ask any more when somebody looks at it. */
#ifndef DW_PROBE_HEAP_STEPS_H
#define DW_PROBE_HEAP_STEPS_H

#include "model/heap/heap_picture.h"

/* Fills steps and notes of the picture for the ways of dw_heap_find_ways. With the GIL. What is
 * gone since the picture was taken has no names. 0 or an error, or 1 with an exception. */
int dw_heap_name_steps(struct dw_heap *heap, const dw_heap_node *parents);

#endif
