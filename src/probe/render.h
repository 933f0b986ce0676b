/* SPDX-License-Identifier: MIT */
#ifndef DW_PROBE_RENDER_H
#define DW_PROBE_RENDER_H

#include "model/profile.h"

#include <Python.h>

/* The one place where an error code becomes a Python exception; always NULL. */
PyObject *dw_raise_error(int error, const char *file);

/* What `make` makes of a log in memory. */
typedef PyObject *dw_make_object(struct dw_profile *profile);
PyObject *dw_log_to_object(PyObject *log, dw_make_object *make);

/* render(log, lens, by=0, columns=()): the bytes that the lens writes. */
PyObject *dw_render(PyObject *module, PyObject *arguments);
/* render_lines(log, unit=, ...): the report of lines, with its options. */
PyObject *dw_render_memory(PyObject *module, PyObject *arguments);
PyObject *dw_render_lines(PyObject *module, PyObject *arguments, PyObject *keywords);
/* export(log_file, lens, out_file) */
PyObject *dw_export(PyObject *module, PyObject *arguments);

#endif
