/* SPDX-License-Identifier: MIT
 * The sampler of this process: takes samples of all its threads by signals, and a thread of its
 * own, which never needs the GIL, turns them into a log. */
#ifndef DW_PROBE_SAMPLE_PROBE_SAMPLER_H
#define DW_PROBE_SAMPLE_PROBE_SAMPLER_H

#include "base/buffer.h"
#include "record/probes.h"

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

struct dw_sampler_options;

extern struct dw_probe dw_sample_probe;

/* 0 or an error; DW_ERR_ARGUMENT when it runs already. */
int dw_probe_sampler_start(const struct dw_sampler_options *options);
/* Writes everything and closes the log. A recording in memory is appended to `memory`, if that
 * is given. */
int dw_probe_sampler_stop(struct dw_buffer *memory);
bool dw_probe_sampler_is_on(void);
/* Its thread exists, but may have no name yet. */
bool dw_probe_sampler_is_starting(void);
/* Lets Python threads announce themselves, where that is possible; with the GIL. */
void dw_probe_sampler_watch_births(void);

/* The functions of the module. */
PyObject *dw_probe_sampler_py_start(PyObject *module, PyObject *arguments);
PyObject *dw_probe_sampler_py_own_work(PyObject *module, PyObject *begins);
PyObject *dw_probe_sampler_py_stop(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_is_on(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_knows_tasks(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_learn_tasks(PyObject *module, PyObject *arguments);

#endif
