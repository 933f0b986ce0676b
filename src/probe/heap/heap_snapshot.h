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
    bool leaves_out;       /* garbage, and more: counts are without it */
    uint64_t taken_ns;     /* of the monotonic clock; of the wall clock for one that was read */
};

/* Takes a picture that was read; NULL with an exception, and the picture is left alone. */
PyObject *dw_heap_snapshot_take(struct dw_heap *heap, uint64_t time_ns);
/* Finds the ways, once. An exception is set after an error. */
int dw_heap_snapshot_find_ways(struct dw_heap_snapshot *snapshot);

/* For its methods. Works out dominators, once; an exception is set after an error. */
int dw_heap_snapshot_dominate(PyObject *self);
/* The node of a number, or false with an exception. */
bool dw_heap_snapshot_node(PyObject *self, PyObject *number, dw_heap_node *node);
PyObject *dw_heap_node_list(const dw_heap_node *nodes, uint32_t count);

int dw_heap_snapshot_init(PyObject *module);

#endif
