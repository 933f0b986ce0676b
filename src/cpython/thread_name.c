/* SPDX-License-Identifier: MIT
 * threading.current_thread() would make up a Thread for a foreign thread; a look into its table
 * does not. */
#define _GNU_SOURCE
#include "cpython/thread_name.h"

#include <Python.h>

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static PyObject *get(PyObject *owner, const char *name)
{
    return owner ? PyObject_GetAttrString(owner, name) : NULL;
}

char *dw_py_current_thread_name(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *module = PyUnicode_FromString("threading");
    PyObject *threading = module ? PyImport_GetModule(module) : NULL;
    PyObject *active = get(threading, "_active");
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && ident ? PyObject_GetItem(active, ident) : NULL;
    PyObject *name = get(thread, "_name");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    /* While threading is imported, it does not know even the main thread. */
    bool is_main = !threading || gettid() == getpid();
    char *copy = text ? strdup(text) : is_main ? strdup("MainThread") : NULL;
    Py_XDECREF(name);
    Py_XDECREF(thread);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    Py_XDECREF(threading);
    Py_XDECREF(module);
    PyErr_Restore(type, value, traceback);
    return copy;
}
