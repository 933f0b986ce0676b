/* SPDX-License-Identifier: MIT
 * dwell.CallTracer: what dwell.Profile is made of. */
#ifndef DW_PROBE_CALL_CALL_PROFILER_H
#define DW_PROBE_CALL_CALL_PROFILER_H

#include <Python.h>

/* Adds the type to the module. -1 with an exception set on failure. */
int dw_call_profiler_init(PyObject *module);

#endif
