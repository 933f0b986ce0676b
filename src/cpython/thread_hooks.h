/* SPDX-License-Identifier: MIT
 * 3.11: a C trace or profile function in every thread. Threads that start later get it
 * from threading's own hook, whose first event swaps itself for the C function. */
#ifndef DW_CPYTHON_THREAD_HOOKS_H
#define DW_CPYTHON_THREAD_HOOKS_H

#include "cpython/frame.h"

struct dw_py_thread_hook {
    bool is_trace; /* else a profile function */
    bool is_installed;
    Py_tracefunc function;     /* the one that is installed */
    PyObject *getter, *setter; /* threading's, such as gettrace and settrace */
    PyObject *swap;            /* what threading calls in a new thread */
    PyObject *program;         /* what it called before us */
};

/* Puts the function into all threads, in the place of the one that the hook has. Leaves threads
 * alone that have another function. -1 with an exception when the calling thread has one: there can
 * be only one. */
int dw_py_thread_hook_install(struct dw_py_thread_hook *hook, Py_tracefunc function);
void dw_py_thread_hook_remove(struct dw_py_thread_hook *hook);

/* Whether the frame that is called begins, rather than goes on. */
bool dw_py_frame_starts(dw_py_frame *frame);
/* Whether the frame that returns falls asleep. */
bool dw_py_frame_sleeps(dw_py_frame *frame);

#endif
