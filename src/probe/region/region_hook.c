/* SPDX-License-Identifier: MIT
 * Regions know whether they are watched, so that others pay for no more than a look at that. */
#include "probe/region/region_hook.h"

static PyObject *functions; /* by name; NULL: nobody wants to know anything */

PyObject *dw_region_py_on(PyObject *module, PyObject *arguments)
{
    PyObject *name, *function;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "UO", &name, &function))
        return NULL;
    if (!functions)
        functions = PyDict_New();
    if (!functions || PyDict_SetItem(functions, name, function))
        return NULL;
    Py_RETURN_NONE;
}

bool dw_region_is_watched(PyObject *name)
{
    return functions && PyUnicode_CheckExact(name) && PyDict_GetItem(functions, name);
}

/* The program's exception, if there is one, stays. */
void dw_region_tell(PyObject *name, const char *what)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *function = PyDict_GetItem(functions, name);
    PyObject *text = PyUnicode_FromFormat("region %U %s", name, what);
    PyObject *result = function && text ? PyObject_CallOneArg(function, text) : NULL;
    if (!result)
        PyErr_Clear(); /* trouble of ours is none of the program */
    Py_XDECREF(result);
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
}
