/* SPDX-License-Identifier: MIT
 * Methods of HeapSnapshot about the objects of a type and about who made them. */
#ifndef DW_PROBE_HEAP_QUERIES_H
#define DW_PROBE_HEAP_QUERIES_H

#include <Python.h>

PyObject *dw_heap_query_leave_out(PyObject *self, PyObject *number);
PyObject *dw_heap_query_counts(PyObject *self, PyObject *unused);
PyObject *dw_heap_query_largest_of(PyObject *self, PyObject *arguments);
PyObject *dw_heap_query_some_of(PyObject *self, PyObject *arguments);
PyObject *dw_heap_query_made(PyObject *self, PyObject *number);
PyObject *dw_heap_query_sites(PyObject *self, PyObject *arguments);

PyObject *dw_heap_query_sizes(PyObject *self, PyObject *unused);
PyObject *dw_heap_query_trash(PyObject *self, PyObject *arguments);

#endif
