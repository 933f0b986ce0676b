/* SPDX-License-Identifier: MIT */
#ifndef DW_PROBE_LINE_LINE_ROWS_H
#define DW_PROBE_LINE_LINE_ROWS_H

#include <Python.h>

/* line_log(functions, sources): the bytes of a log of what LineTracer._rows() gives. */
PyObject *dw_line_rows_to_log(PyObject *module, PyObject *arguments);
/* line_rows(log): (rows, sources) of a log. */
PyObject *dw_line_rows_of_log(PyObject *module, PyObject *log);

#endif
