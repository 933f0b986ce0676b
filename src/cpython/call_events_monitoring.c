/* SPDX-License-Identifier: MIT
 * 3.12 and later. We take the tool id of profilers, as cProfile does, so that two
 * of them see each other and the second one is refused with a clear error; `dwell run` takes
 * another one and leaves that to the program. */
#include "cpython/call_events.h"

#include "cpython/monitoring.h"

#define PROFILER_ID 2 /* sys.monitoring's */
static int tool;

static PyObject *on_start(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    dw_calls_on_start((PyCodeObject *)arguments[0]);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    dw_calls_on_resume(dw_py_frame_now(), (PyCodeObject *)arguments[0]);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    dw_calls_on_yield(dw_py_frame_now(), (PyCodeObject *)arguments[0]);
    Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    dw_calls_on_return((PyCodeObject *)arguments[0]);
    Py_RETURN_NONE;
}

static PyObject *on_call(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    PyObject *callable = arguments[2];
    if (PyFunction_Check(callable)) /* it has an event of its own when it starts */
        Py_RETURN_NONE;
    PyMethodDef *method = dw_call_method(callable);
    if (method)
        dw_calls_on_c_call(method, callable, arguments[3]);
    Py_RETURN_NONE;
}

static PyObject *on_c_return(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)count;
    PyMethodDef *method = dw_call_method(arguments[2]);
    if (method)
        dw_calls_on_c_return(method);
    Py_RETURN_NONE;
}

/* Events of builtins come last. */
static struct dw_py_event events[] = {
    DW_PY_EVENT("PY_START", on_start),   DW_PY_EVENT("PY_RESUME", on_resume),
    DW_PY_EVENT("PY_THROW", on_resume),  DW_PY_EVENT("PY_YIELD", on_yield),
    DW_PY_EVENT("PY_RETURN", on_return), DW_PY_EVENT("PY_UNWIND", on_return),
    DW_PY_EVENT("CALL", on_call),        DW_PY_EVENT("C_RETURN", on_c_return),
    DW_PY_EVENT("C_RAISE", on_c_return),
};
#define EVENTS (sizeof events / sizeof *events)
#define EVENTS_OF_PYTHON 6

/* C_RETURN and C_RAISE come with CALL and cannot be asked for. */
static int start(bool builtins)
{
    int wanted = 0;
    if (dw_py_monitoring_register(tool, events, builtins ? EVENTS : EVENTS_OF_PYTHON))
        return -1;
    for (size_t i = 0; i < EVENTS_OF_PYTHON + (builtins ? 1u : 0u); i++)
        wanted |= events[i].number;
    return dw_py_monitoring_set(tool, wanted);
}

static int take_tool(bool beside_others)
{
    if (beside_others)
        return dw_py_monitoring_take_any();
    return dw_py_monitoring_take(PROFILER_ID) ? PROFILER_ID : -1;
}

int dw_call_events_enable(bool builtins, bool beside_others)
{
    tool = take_tool(beside_others);
    if (tool < 0) {
        PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
        return -1;
    }
    if (!start(builtins))
        return 0;
    dw_call_events_disable();
    return -1;
}

void dw_call_events_disable(void)
{
    PyObject *pending = PyErr_GetRaisedException();
    if (dw_py_monitoring_set(tool, 0))
        PyErr_Clear();
    PyErr_SetRaisedException(pending);
    dw_py_monitoring_unregister(tool, events, EVENTS);
    dw_py_monitoring_free(tool);
}
