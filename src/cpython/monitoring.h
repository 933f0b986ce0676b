/* SPDX-License-Identifier: MIT
 * sys.monitoring (3.12 and later) from C. Each of these but take() sets an exception
 * when it returns -1. */
#ifndef DW_CPYTHON_MONITORING_H
#define DW_CPYTHON_MONITORING_H

#include <Python.h>

#include <stdbool.h>

/* A callback of an event, by its name in sys.monitoring.events. */
struct dw_py_event {
    const char *name;
    PyMethodDef method;
    int number; /* the bit of the event; filled in by dw_py_monitoring_register */
};

#define DW_PY_EVENT(event, function)                                                               \
    {                                                                                              \
        event, {event, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL}, 0            \
    }

/* True when the id was free and is ours now; no exception otherwise. */
bool dw_py_monitoring_take(int tool);
/* An id that was free, or -1; no exception. Those of debuggers, coverage and profilers are left to
 * the program. There are as many as dwell has probes that need one. */
int dw_py_monitoring_take_any(void);
void dw_py_monitoring_free(int tool);
/* Registers the callbacks of the events. */
int dw_py_monitoring_register(int tool, struct dw_py_event *events, size_t count);
void dw_py_monitoring_unregister(int tool, const struct dw_py_event *events, size_t count);
/* Which events are wanted of all code, and of one code object. */
int dw_py_monitoring_set(int tool, int events);
int dw_py_monitoring_set_local(int tool, PyCodeObject *code, int events);

#endif
