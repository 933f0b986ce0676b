/* SPDX-License-Identifier: MIT
 * The samples of a log as Python objects. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_ROWS_H
#define DW_PROBE_SAMPLE_SAMPLE_ROWS_H

#include <Python.h>

/* sample_rows(log): a dict of how samples were taken, and a list of rows (thread id, its name,
 * state, whether it held the GIL, count, nanoseconds, stack). A stack is a tuple of frames,
 * outermost first: (kind, name, file, line, end line, column, end column). */
PyObject *dw_sample_rows(PyObject *module, PyObject *log);

#endif
