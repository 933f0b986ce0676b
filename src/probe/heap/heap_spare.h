/* SPDX-License-Identifier: MIT
 * Room that lists and dictionaries hold and nothing uses. It follows from their sizes and from how
 * many references they have, so a picture that was read knows it too. */
#ifndef DW_PROBE_HEAP_SPARE_H
#define DW_PROBE_HEAP_SPARE_H

#include <Python.h>

/* spare(limit): of list and dict each: how many have room to spare, their bytes, the bytes to
 * spare; and pairs of a node and its bytes to spare, the most first. */
PyObject *dw_heap_query_spare(PyObject *self, PyObject *arguments);

#endif
