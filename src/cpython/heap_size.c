/* SPDX-License-Identifier: MIT
 * A type without a __sizeof__ of its own has that of object, whose answer is computed here. One
 * that is written in Python is passed over for the next in line. */
#include "cpython/heap_size.h"

#include "layout.h"

#include <internal/pycore_object.h>

/* The first __sizeof__ along the bases that is written in C; borrowed. */
static PyObject *told_in_c(PyTypeObject *type)
{
    PyObject *name = PyUnicode_InternFromString("__sizeof__"), *found = NULL;
    for (; name && type; type = type->tp_base) {
        found = _PyType_Lookup(type, name);
        if (found && Py_IS_TYPE(found, &PyMethodDescr_Type))
            break;
        found = NULL;
    }
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

static bool is_of_interpreter(const PyTypeObject *type)
{
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !strchr(type->tp_name, '.');
}

void dw_py_sizing_of(PyTypeObject *type, struct dw_py_sizing *sizing)
{
    PyObject *tell = told_in_c(type);
    *sizing = (struct dw_py_sizing){.basic = type->tp_basicsize,
                                    .item = type->tp_itemsize,
                                    .head = _PyType_PreHeaderSize(type)};
    if (!tell || PyDescr_TYPE(tell) == &PyBaseObject_Type)
        return;
    const PyMethodDef *method = ((PyMethodDescrObject *)tell)->d_method;
    sizing->tell = tell;
    if (method->ml_flags == METH_NOARGS && is_of_interpreter(PyDescr_TYPE(tell)))
        sizing->direct = method->ml_meth;
}

bool dw_py_size_is_foreign(const struct dw_py_sizing *sizing)
{
    return sizing->tell && !sizing->direct;
}

static size_t head_of(PyObject *object, const struct dw_py_sizing *sizing)
{
    PyTypeObject *type = Py_TYPE(object);
    return type->tp_is_gc && !type->tp_is_gc(object) ? 0 : sizing->head;
}

size_t dw_py_size(PyObject *object, const struct dw_py_sizing *sizing)
{
    size_t size = (size_t)sizing->basic, head = head_of(object, sizing);
    if (!sizing->tell)
        return size + head + (sizing->item ? (size_t)(sizing->item * Py_SIZE(object)) : 0);
    PyObject *told =
        sizing->direct ? sizing->direct(object, NULL) : PyObject_CallOneArg(sizing->tell, object);
    size_t answer = told ? PyLong_AsSize_t(told) : (size_t)-1;
    Py_XDECREF(told);
    if (answer == (size_t)-1 && PyErr_Occurred())
        PyErr_Clear();
    else
        size = answer;
    return size + head;
}
