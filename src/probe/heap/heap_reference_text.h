/* SPDX-License-Identifier: MIT
 * How one object holds another, as one would write it. */
#ifndef DW_PROBE_HEAP_REFERENCE_TEXT_H
#define DW_PROBE_HEAP_REFERENCE_TEXT_H

#include <Python.h>

/* heap_reference(holder, held): ".attribute", "[0]", "['key']"; "" when it cannot be told. */
PyObject *dw_heap_py_reference(PyObject *module, PyObject *arguments);

#endif
