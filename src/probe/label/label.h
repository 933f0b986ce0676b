/* SPDX-License-Identifier: MIT
 * Labels in Python code: the Label type, for `with` and as a decorator, and functions of the
 * module. A Label only says which labels it gives; what is open stands in the context, so one
 * Label serves all threads, tasks and recursion. */
#ifndef DW_PROBE_LABEL_LABEL_H
#define DW_PROBE_LABEL_LABEL_H

#include <Python.h>

/* Adds the type to the module. -1 with an exception set on failure. */
int dw_label_init(PyObject *module);

/* label_start(): makes ready what the first label needs. None, or why samples have no labels. */
PyObject *dw_label_py_start(PyObject *module, PyObject *unused);
/* label(**labels) */
PyObject *dw_label_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *keywords);
/* labels(): those of the current context, as a dict. */
PyObject *dw_label_py_labels(PyObject *module, PyObject *unused);
/* label_ids(): of the current labels, as a handler, a hot path and another thread find it. */
PyObject *dw_label_py_ids(PyObject *module, PyObject *unused);
/* label_reader(): a capsule with uint32_t (*)(void), which reads the calling thread's labels from
 * a signal handler. */
PyObject *dw_label_py_reader(PyObject *module, PyObject *unused);

#endif
