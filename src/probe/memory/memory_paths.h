/* SPDX-License-Identifier: MIT
 * What was allocated on each path, for Python. */
#ifndef DW_PROBE_MEMORY_MEMORY_PATHS_H
#define DW_PROBE_MEMORY_MEMORY_PATHS_H

#include <Python.h>

/* memory_paths(log): [(tid, mark, [(function, file, line), ...], allocated, live, peak), ...], in
 * bytes, stacks with the outermost function first. */
PyObject *dw_memory_py_paths(PyObject *module, PyObject *log);

#endif
