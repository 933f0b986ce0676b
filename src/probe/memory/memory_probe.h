/* SPDX-License-Identifier: MIT
 * The probe of memory: what is allocated, where, and what of it is still there. */
#ifndef DW_PROBE_MEMORY_MEMORY_PROBE_H
#define DW_PROBE_MEMORY_MEMORY_PROBE_H

#include "base/buffer.h"
#include "record/probes.h"

#include <Python.h>

#include <stdbool.h>

struct dw_memory_options {
    const char *log_file; /* NULL: in memory */
    bool is_exact;        /* each allocation, not a sample of them */
    bool is_of_caller;    /* only what the calling thread allocates */
};

extern struct dw_probe dw_memory_probe;

/* With the GIL. 0 or an error; DW_ERR_ARGUMENT when it runs already. */
int dw_memory_start(const struct dw_memory_options *options);
/* Writes everything and closes the log. A recording in memory is appended to `memory`, if that is
 * given. */
int dw_memory_stop(struct dw_buffer *memory);
bool dw_memory_is_on(void);

/* The functions of the module. */
PyObject *dw_memory_py_start(PyObject *module, PyObject *arguments);
PyObject *dw_memory_py_stop(PyObject *module, PyObject *unused);
PyObject *dw_memory_py_mark(PyObject *module, PyObject *name);
PyObject *dw_memory_py_is_on(PyObject *module, PyObject *unused);

#endif
