/* SPDX-License-Identifier: MIT
 * The sampler of this process: takes samples of all its threads by signals, and a thread of its
 * own, which never needs the GIL, turns them into a log. */
#ifndef DW_PROBE_SAMPLE_PROBE_SAMPLER_H
#define DW_PROBE_SAMPLE_PROBE_SAMPLER_H

#include "base/buffer.h"

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

struct dw_sampler_options;

/* 0 or an error; DW_ERR_ARGUMENT when it runs already. */
int dw_probe_sampler_start(const struct dw_sampler_options *options);
/* Writes everything and closes the log. A recording in memory is appended to `memory`, if that
 * is given. */
int dw_probe_sampler_stop(struct dw_buffer *memory);
bool dw_probe_sampler_is_on(void);
/* Lets Python threads announce themselves, where that is possible; with the GIL. */
void dw_probe_sampler_watch_births(void);
/* Writes everything, as the last thing before the process is gone or becomes another program. */
void dw_probe_sampler_flush_last(void);
/* In a forked child: goes on, in a file of its own. */
void dw_probe_sampler_continue(void);

/* The functions of the module. */
PyObject *dw_probe_sampler_py_start(PyObject *module, PyObject *arguments);
PyObject *dw_probe_sampler_py_own_work(PyObject *module, PyObject *begins);
PyObject *dw_probe_sampler_py_stop(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_is_on(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_finish(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_flush_last(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_continue(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_knows_tasks(PyObject *module, PyObject *unused);
PyObject *dw_probe_sampler_py_learn_tasks(PyObject *module, PyObject *arguments);

#endif
