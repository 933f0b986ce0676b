/* SPDX-License-Identifier: MIT
 * Pictures of heaps made by chance, with all that a picture can have. The same ones each time. */
#ifndef DW_TESTS_FIXTURE_HEAP_H
#define DW_TESTS_FIXTURE_HEAP_H

#include "log/writer.h"
#include "model/heap/heap_picture.h"

/* So many nodes and types, of which the eighth has a long name. Steps to the nodes, notes and sites
 * are what a picture need not have. */
void fixture_heap(struct dw_heap *heap, uint32_t count, uint32_t types, bool has_steps);
/* A log in memory that has the picture so many times. */
void fixture_heap_log(struct dw_log_writer *writer, const struct dw_heap *heap, uint32_t pictures);

#endif
