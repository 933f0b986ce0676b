/* SPDX-License-Identifier: MIT */
#ifndef DW_PROBE_LINE_LINE_TRACER_H
#define DW_PROBE_LINE_LINE_TRACER_H

#include <Python.h>

/* Adds the type LineTracer to the module. */
int dw_line_tracer_init(PyObject *module);

#endif
