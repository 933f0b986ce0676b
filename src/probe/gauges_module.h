/* SPDX-License-Identifier: MIT
 * The probe of gauges as functions of dwell._core. */
#ifndef DW_PROBE_GAUGES_MODULE_H
#define DW_PROBE_GAUGES_MODULE_H

#include <Python.h>

/* start(log_file, interval_ns, pss) */
PyObject *dw_gauges_py_start(PyObject *module, PyObject *arguments);
/* stop(): what was recorded in memory, b"" when there is a file. */
PyObject *dw_gauges_py_stop(PyObject *module, PyObject *unused);
/* series(log): the gauges of a recording in memory, {name: [(seconds since 1970, value), ...]}. */
PyObject *dw_gauges_py_series(PyObject *module, PyObject *log);

#endif
