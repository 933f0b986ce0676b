/* SPDX-License-Identifier: MIT
 * What is to be done to the heap when the program ends by a signal or by os._exit(): a function of
 * Python, which is called with the GIL. */
#ifndef DW_PROBE_HEAP_LAST_H
#define DW_PROBE_HEAP_LAST_H

#include <Python.h>

/* heap_at_last(function) */
PyObject *dw_heap_py_at_last(PyObject *module, PyObject *function);

#endif
