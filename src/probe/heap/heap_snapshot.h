/* SPDX-License-Identifier: MIT
 * dwell._core.HeapSnapshot: a picture of the heap, as dwell.heap asks it. Objects are told by their
 * nodes, which are numbers. */
#ifndef DW_PROBE_HEAP_SNAPSHOT_H
#define DW_PROBE_HEAP_SNAPSHOT_H

#include "probe/heap/heap_walk.h"

#include <Python.h>

struct dw_heap_snapshot {
    PyObject head;
    struct dw_heap heap;
    dw_heap_node *parents; /* on ways from roots, once somebody asked */
};

int dw_heap_snapshot_init(PyObject *module);

#endif
