/* SPDX-License-Identifier: MIT
 * From nodes of a picture back to objects: only to those that still live, which is checked without
 * touching memory that may be gone. */
#ifndef DW_PROBE_HEAP_ALIVE_H
#define DW_PROBE_HEAP_ALIVE_H

#include "probe/heap/heap_walk.h"

#include <Python.h>

/* A list of the objects of some nodes, None where it is not sure that one lives. Of objects that
 * the garbage collector does not track that is known when the one before them, in the given order,
 * refers to them. */
PyObject *dw_heap_alive(const struct dw_heap *heap, const dw_heap_node *nodes, uint32_t count);
/* What an object refers to, as a list: as gc.get_referents, with what that leaves out. */
PyObject *dw_heap_py_referents(PyObject *module, PyObject *object);

#endif
