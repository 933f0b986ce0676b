/* SPDX-License-Identifier: MIT
 * 3.12 and later. We take the tool id of profilers, as cProfile does, so that two
 * of them see each other and the second one is refused with a clear error. */
#include "cpython/call_events.h"

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
    if (PyFunction_Check(callable)) /* it will tell itself that it starts */
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

#define METHOD(function)                                                                           \
    {                                                                                              \
#function, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL                    \
    }

/* The names are those in sys.monitoring.events. */
static struct {
    const char *name;
    bool of_builtins;
    PyMethodDef method;
} events[] = {
    {"PY_START", false, METHOD(on_start)},   {"PY_RESUME", false, METHOD(on_resume)},
    {"PY_THROW", false, METHOD(on_resume)},  {"PY_YIELD", false, METHOD(on_yield)},
    {"PY_RETURN", false, METHOD(on_return)}, {"PY_UNWIND", false, METHOD(on_return)},
    {"CALL", true, METHOD(on_call)},         {"C_RETURN", true, METHOD(on_c_return)},
    {"C_RAISE", true, METHOD(on_c_return)},
};
#define EVENTS (sizeof events / sizeof *events)

static PyObject *monitoring(void)
{
    return PySys_GetObject("monitoring"); /* borrowed */
}

static int event_number(const char *name, long *number)
{
    PyObject *names = PyObject_GetAttrString(monitoring(), "events");
    PyObject *value = names ? PyObject_GetAttrString(names, name) : NULL;
    *number = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(names);
    Py_XDECREF(value);
    return *number < 0 ? -1 : 0;
}

static int set_callback(long event, PyObject *function)
{
    PyObject *old =
        PyObject_CallMethod(monitoring(), "register_callback", "ilO", tool, event, function);
    Py_XDECREF(old);
    return old ? 0 : -1;
}

static int set_events(long numbers)
{
    PyObject *done = PyObject_CallMethod(monitoring(), "set_events", "il", tool, numbers);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int register_all(bool builtins)
{
    long all = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        long number;
        if (events[i].of_builtins && !builtins)
            continue;
        if (event_number(events[i].name, &number))
            return -1;
        PyObject *function = PyCFunction_New(&events[i].method, NULL);
        int error = function ? set_callback(number, function) : -1;
        Py_XDECREF(function);
        if (error)
            return -1;
        /* C_RETURN and C_RAISE come with CALL and cannot be asked for. */
        if (!events[i].of_builtins || !strcmp(events[i].name, "CALL"))
            all |= number;
    }
    return set_events(all);
}

static bool take_tool(int id)
{
    PyObject *done = PyObject_CallMethod(monitoring(), "use_tool_id", "is", id, "dwell");
    tool = id;
    Py_XDECREF(done);
    if (!done && PyErr_ExceptionMatches(PyExc_ValueError))
        PyErr_Clear();
    return done != NULL;
}

int dw_call_events_enable(bool builtins, bool beside_others)
{
    bool taken = beside_others ? take_tool(3) || take_tool(4) : take_tool(PROFILER_ID);
    if (!taken) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
        return -1;
    }
    if (!register_all(builtins))
        return 0;
    dw_call_events_disable();
    return -1;
}

void dw_call_events_disable(void)
{
    PyObject *pending = PyErr_GetRaisedException();
    set_events(0);
    for (size_t i = 0; i < EVENTS; i++) {
        long number;
        if (!event_number(events[i].name, &number))
            set_callback(number, Py_None);
    }
    PyObject *done = PyObject_CallMethod(monitoring(), "free_tool_id", "i", tool);
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_SetRaisedException(pending);
}
