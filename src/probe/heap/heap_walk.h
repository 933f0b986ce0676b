/* SPDX-License-Identifier: MIT
 * One pass over all objects of the interpreter, while the program waits. Nothing is collected
 * before, nothing is kept alive, no Python code is run, and of values only names are kept: those of
 * types, functions, files and variables. */
#ifndef DW_PROBE_HEAP_WALK_H
#define DW_PROBE_HEAP_WALK_H

#include "model/heap/heap_picture.h"

/* With the GIL. 0 or an error, or 1 with an exception. */
int dw_heap_walk(struct dw_heap *heap, bool with_hashes);

#endif
