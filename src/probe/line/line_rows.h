/* SPDX-License-Identifier: MIT
 * Numbers of lines as Python objects, and logs in memory that hold them. */
#ifndef DW_PROBE_LINE_LINE_ROWS_H
#define DW_PROBE_LINE_LINE_ROWS_H

#include "record/ledger.h"

#include <Python.h>

/* The bytes of a log of what is collected, and of the texts of files: a dict of str by str. */
PyObject *dw_line_log_bytes(dw_collect *collect, void *context, PyObject *sources);
/* line_log(timings, sources): a log of what line_profiler has by function, in nanoseconds. */
PyObject *dw_line_rows_to_log(PyObject *module, PyObject *arguments);
/* line_rows(log): (file, first line, name, calls, lines) of every function in a log. */
PyObject *dw_line_rows_of_log(PyObject *module, PyObject *log);
/* line_memory(log): (file, first line, name, lines) of every function, with resident memory. */
PyObject *dw_line_memory_of_log(PyObject *module, PyObject *log);
/* add_logs(logs): one log that has the sums, also of a log that is in it twice. */
PyObject *dw_line_add_logs(PyObject *module, PyObject *logs);

#endif
