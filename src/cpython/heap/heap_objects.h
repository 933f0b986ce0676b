/* SPDX-License-Identifier: MIT
 * The objects that CPython's garbage collector tracks. */
#ifndef DW_CPYTHON_HEAP_OBJECTS_H
#define DW_CPYTHON_HEAP_OBJECTS_H

#include <Python.h>

#include <stdbool.h>

/* Gets each object, borrowed, and must not make or free any; false ends the visits. */
typedef bool dw_py_object_visit(PyObject *object, void *argument);
/* -1 with an exception when they cannot be listed. Frozen objects may be left out. */
int dw_py_heap_objects(dw_py_object_visit *visit, void *argument);

#endif
