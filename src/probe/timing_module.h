/* SPDX-License-Identifier: MIT
 * Statistics of timings, and their log, for the Python side that measures them. */
#ifndef DW_PROBE_TIMING_MODULE_H
#define DW_PROBE_TIMING_MODULE_H

#include <Python.h>

/* Adds the functions to the module. 0, or -1 with an exception. */
int dw_timing_module_init(PyObject *module);

#endif
