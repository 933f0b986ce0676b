/* SPDX-License-Identifier: MIT
 * The lines of chosen code, in all threads, from the interpreter to the lines probe. From 3.12 on
 * by sys.monitoring's events of single code objects; on 3.11 by the trace function of each thread,
 * which gets events of all code. */
#ifndef DW_CPYTHON_LINE_EVENTS_H
#define DW_CPYTHON_LINE_EVENTS_H

#include "cpython/frame.h"

enum dw_line_watch {
    DW_WATCH_ENDS = 1,  /* where it begins, ends, sleeps and goes on */
    DW_WATCH_LINES = 2, /* its lines */
    DW_WATCH_CALLS = 4, /* what it calls that is not Python */
};

/* From here on somebody listens, perhaps to calls too. -1 with an exception when that is not
 * possible. */
int dw_line_events_enable(bool calls);
/* Nobody listens any more. Events of watched code may still come. */
void dw_line_events_disable(void);
/* Which events of the code are wanted, 0 for none. -1 with an exception. */
int dw_line_events_watch(PyCodeObject *code, unsigned watch);

/* The lines probe defines these. They are called with the GIL held and never fail. */
void dw_lines_on_start(PyCodeObject *code);
void dw_lines_on_line(PyCodeObject *code, int line);
void dw_lines_on_yield(dw_py_frame *frame, PyCodeObject *code);
void dw_lines_on_resume(dw_py_frame *frame, PyCodeObject *code);
void dw_lines_on_return(PyCodeObject *code);
/* `code` calls something. If that is not Python, its end is an event too. */
void dw_lines_on_call(PyCodeObject *code, PyObject *callable);
void dw_lines_on_python_call(PyCodeObject *code, PyCodeObject *called);
void dw_lines_on_c_return(PyCodeObject *code, PyObject *callable);

#endif
