/* SPDX-License-Identifier: MIT
 * In the list of probes, so that whatever ends the program asks it. An end of the usual kind, which
 * runs atexit, comes to `stop` and has looked at the heap before. */
#include "probe/heap/heap_last.h"

#include "record/probes.h"

static PyObject *last; /* the function */
static atomic_bool is_on;

/* Once: what comes behind the last words is no news. */
static void call_last(void)
{
    if (!atomic_exchange(&is_on, false))
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = PyObject_CallNoArgs(last);
    if (!result)
        PyErr_Clear();
    Py_XDECREF(result);
    PyErr_Restore(type, value, traceback);
}

static void turn_off(void)
{
    atomic_store(&is_on, false);
}

static struct dw_probe probe = {
    .name = "heap",
    .needs_gil = true,
    .last = call_last,
    .stop = turn_off,
    .forked = turn_off, /* a forked child has no part in it */
};

PyObject *dw_heap_py_at_last(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(last, Py_NewRef(function));
    atomic_store(&is_on, true);
    dw_probe_add(&probe);
    Py_RETURN_NONE;
}
