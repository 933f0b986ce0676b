/* SPDX-License-Identifier: MIT
 * The table has strings as keys, and each is its own value. Dictionaries of the program may be so
 * too, but only the table has a string that nobody else has seen. */
#include "cpython/heap/heap_interned.h"

#include <internal/pycore_dict.h>

PyObject *dw_py_interned_string(void)
{
    PyObject *string = PyUnicode_InternFromString("dwell looks for the table of strings");
    PyErr_Clear();
    return string;
}

bool dw_py_is_interned_table(PyObject *object, PyObject *string)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    if (!string || !PyDict_CheckExact(object) || ((PyDictObject *)object)->ma_values ||
        !DK_IS_UNICODE(((PyDictObject *)object)->ma_keys))
        return false;
    if (!PyDict_Next(object, &at, &key, &value) || key != value)
        return false;
    return PyDict_GetItemWithError(object, string) == string;
}
