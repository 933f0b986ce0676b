/* SPDX-License-Identifier: MIT
 * The table of interned strings. From 3.14 on it is among the tracked objects. It does not count
 * its references, so it holds nothing: a string leaves it when nothing else refers to the string.
 */
#ifndef DW_CPYTHON_HEAP_INTERNED_H
#define DW_CPYTHON_HEAP_INTERNED_H

#include <Python.h>
#include <stdbool.h>

/* A string that is in the table: a new reference, NULL without memory. */
PyObject *dw_py_interned_string(void);
/* Whether an object is the table, told by such a string. Runs no code and makes no object. */
bool dw_py_is_interned_table(PyObject *object, PyObject *string);

#endif
