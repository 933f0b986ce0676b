/* SPDX-License-Identifier: MIT
 * From 3.12 on: a watcher of the dict that each thread of `threading` enters itself into. It is one
 * of the eight that an interpreter has room for; when none is free, threads are not announced. */
#include "cpython/thread_births.h"

#include <Python.h>

#include <stdbool.h>

static struct {
    dw_py_thread_born *born;
    PyInterpreterState *interpreter;
    PyObject *threads; /* owned; NULL: nothing is watched */
    int id;
} watcher;

/* Greenlets that stand in for threads enter themselves too, with numbers of their own. */
static bool is_own_ident(PyObject *ident)
{
    return PyLong_Check(ident) && PyLong_AsUnsignedLongMask(ident) == PyThread_get_thread_ident();
}

static int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *ident, PyObject *thread)
{
    if (event != PyDict_EVENT_ADDED || dict != watcher.threads || !is_own_ident(ident))
        return 0;
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *name = PyObject_GetAttrString(thread, "_name");
    Py_ssize_t size;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
    if (text)
        watcher.born(text, (size_t)size);
    Py_XDECREF(name);
    PyErr_SetRaisedException(raised);
    return 0;
}

/* NULL without an exception when `threading` is not imported. */
static PyObject *active_threads(void)
{
    PyObject *name = PyUnicode_FromString("threading");
    PyObject *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    Py_XDECREF(name);
    Py_XDECREF(threading);
    return active;
}

static int watch(PyObject *threads)
{
    int id = PyDict_AddWatcher(on_change);
    if (id < 0)
        return -1;
    if (PyDict_Watch(id, threads)) {
        PyDict_ClearWatcher(id);
        return -1;
    }
    watcher.interpreter = PyInterpreterState_Get();
    watcher.threads = Py_NewRef(threads);
    watcher.id = id;
    return 0;
}

void dw_py_births_watch(dw_py_thread_born *born)
{
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *threads = watcher.threads ? NULL : active_threads();
    watcher.born = born;
    if (threads && PyDict_Check(threads))
        watch(threads);
    Py_XDECREF(threads);
    PyErr_SetRaisedException(raised);
}

/* Another interpreter's watchers are out of reach. */
void dw_py_births_unwatch(void)
{
    if (!watcher.threads || watcher.interpreter != PyInterpreterState_Get())
        return;
    PyObject *raised = PyErr_GetRaisedException();
    PyDict_Unwatch(watcher.id, watcher.threads);
    PyDict_ClearWatcher(watcher.id);
    Py_CLEAR(watcher.threads);
    PyErr_SetRaisedException(raised);
}
