/* SPDX-License-Identifier: MIT
 * Every call and return in all threads, from the interpreter to the calls probe.
 * From 3.12 on by sys.monitoring, on 3.11 by the profile hook of each thread. */
#ifndef DW_CPYTHON_CALL_EVENTS_H
#define DW_CPYTHON_CALL_EVENTS_H

#include "cpython/frame.h"

/* Starts telling. -1 with an exception set when another profiler is in the way.
 * beside_others: leaves the place of profilers to the program (3.12 and later). */
int dw_call_events_enable(bool builtins, bool beside_others);
void dw_call_events_disable(void);

/* The calls probe defines these. They are called with the GIL held and never fail; the
 * only Python code they run is a describer or a clock that the user gave. `frame` is the frame that
 * goes on or sleeps. */
void dw_calls_on_start(PyCodeObject *code);
void dw_calls_on_resume(dw_py_frame *frame, PyCodeObject *code);
void dw_calls_on_yield(dw_py_frame *frame, PyCodeObject *code);
void dw_calls_on_return(PyCodeObject *code);
/* A C function, by its method definition; `callable` and `self` are for its name. */
void dw_calls_on_c_call(PyMethodDef *method, PyObject *callable, PyObject *self);
void dw_calls_on_c_return(PyMethodDef *method);

/* The method definition of a C function or method, or NULL for other callables. */
static inline PyMethodDef *dw_call_method(PyObject *callable)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

#endif
