/* SPDX-License-Identifier: MIT
 * Tells when generators, coroutines and async generators of chosen code go to
 * sleep and wake up. From 3.12 on by sys.monitoring, on that code alone; on 3.11
 * by the thread's profile hook, while there is something to watch. */
#ifndef DW_CPYTHON_WATCH_H
#define DW_CPYTHON_WATCH_H

#include <Python.h>

#include <stdbool.h>

typedef void dw_py_sleep_callback(PyObject *generator);

/* Once, before anything is watched. The callbacks are called with the GIL held,
 * in the thread where it happens, and must not run Python code. */
void dw_py_watch_init(dw_py_sleep_callback *on_suspend, dw_py_sleep_callback *on_resume);
/* From now on the callbacks hear of the code's generators; cheap when they do already. False when
 * another tool is in the way: then only dw_py_generator_runs tells. */
bool dw_py_watch(PyCodeObject *code);
/* Nothing that is watched is alive in this thread, so what costs time can be removed. */
void dw_py_watch_idle(void);

#endif
