/* SPDX-License-Identifier: MIT
 * The heap of a process that is read from outside and stopped meanwhile: the same picture as the
 * walk inside a process makes, but for what some types of C code hold, which only they know. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_WALK_H
#define DW_ATTACH_HEAP_OUTSIDE_WALK_H

#include "attach/python/python_runtime.h"
#include "model/heap/heap_picture.h"

struct dw_outside_numbers {
    uint64_t objects, tracked;
    uint64_t unknown;       /* objects that hold more than can be known from outside, and */
    uint32_t unknown_types; /* their types */
    uint64_t bytes_read;
    bool is_collecting; /* it was in a collection of garbage: objects may be missing */
};

/* All threads of the process are stopped. 0, or DW_ERR_PYTHON_VERSION, DW_ERR_DAMAGED when its
 * lists of objects are not where they should be, DW_ERR_MEMORY. */
int dw_outside_walk(const struct dw_python *python, struct dw_heap *heap,
                    struct dw_outside_numbers *numbers);
/* Whether a collection of garbage is at work: its lists do not hold together then. */
bool dw_outside_is_collecting(const struct dw_python *python);

#endif
