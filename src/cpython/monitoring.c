/* SPDX-License-Identifier: MIT
 * Everything goes through the Python functions of sys.monitoring: tools have no public C
 * interface. */
#include "cpython/monitoring.h"

static PyObject *monitoring(void)
{
    return PySys_GetObject("monitoring"); /* borrowed */
}

static int finish(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

bool dw_py_monitoring_take(int tool)
{
    if (!finish(PyObject_CallMethod(monitoring(), "use_tool_id", "is", tool, "dwell")))
        return true;
    PyErr_Clear();
    return false;
}

int dw_py_monitoring_take_any(void)
{
    static const int ids[] = {3, 4, 5};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (dw_py_monitoring_take(ids[i]))
            return ids[i];
    return -1;
}

void dw_py_monitoring_free(int tool)
{
    PyObject *pending = PyErr_GetRaisedException();
    finish(PyObject_CallMethod(monitoring(), "free_tool_id", "i", tool));
    PyErr_Clear();
    PyErr_SetRaisedException(pending);
}

static int event_number(const char *name, int *number)
{
    PyObject *names = PyObject_GetAttrString(monitoring(), "events");
    PyObject *value = names ? PyObject_GetAttrString(names, name) : NULL;
    *number = value ? (int)PyLong_AsLong(value) : -1;
    Py_XDECREF(names);
    Py_XDECREF(value);
    return *number < 0 ? -1 : 0;
}

static int set_callback(int tool, int event, PyObject *function)
{
    return finish(
        PyObject_CallMethod(monitoring(), "register_callback", "iiO", tool, event, function));
}

int dw_py_monitoring_register(int tool, struct dw_py_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (event_number(events[i].name, &events[i].number))
            return -1;
        PyObject *function = PyCFunction_New(&events[i].method, NULL);
        int error = function ? set_callback(tool, events[i].number, function) : -1;
        Py_XDECREF(function);
        if (error)
            return -1;
    }
    return 0;
}

void dw_py_monitoring_unregister(int tool, const struct dw_py_event *events, size_t count)
{
    PyObject *pending = PyErr_GetRaisedException();
    for (size_t i = 0; i < count; i++)
        if (events[i].number)
            set_callback(tool, events[i].number, Py_None);
    PyErr_Clear();
    PyErr_SetRaisedException(pending);
}

int dw_py_monitoring_set(int tool, int events)
{
    return finish(PyObject_CallMethod(monitoring(), "set_events", "ii", tool, events));
}

int dw_py_monitoring_set_local(int tool, PyCodeObject *code, int events)
{
    return finish(PyObject_CallMethod(monitoring(), "set_local_events", "iOi", tool, code, events));
}
