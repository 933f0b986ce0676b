/* SPDX-License-Identifier: MIT
 * CPython 3.11 has no other public way than a list of all objects. It holds a reference to each
 * and is gone before they are looked at closer. */
#include "cpython/heap/heap_objects.h"

int dw_py_heap_objects(dw_py_object_visit *visit, void *argument)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *list = gc ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
    Py_XDECREF(gc);
    if (!list)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (!visit(PyList_GET_ITEM(list, i), argument))
            break;
    Py_DECREF(list);
    return 0;
}
