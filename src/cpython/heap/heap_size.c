/* SPDX-License-Identifier: MIT
 * A type without a __sizeof__ of its own has that of object, whose answer is computed here. One
 * that is written in Python is passed over for the next in line. */
#include "cpython/heap/heap_size.h"

#include "layout.h"

#include <internal/pycore_object.h>

#define INSIDE_BYTES 16 /* of memory in an object of ctypes */

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

static PyTypeObject *base_named(PyTypeObject *type, const char *name)
{
    while (type && strcmp(type->tp_name, name) != 0)
        type = type->tp_base;
    return type;
}

/* Types of the standard library whose memory is not in what they tell of their size. */
static void find_buffers(PyTypeObject *type, struct dw_py_sizing *sizing)
{
    const PyTypeObject *mapping = base_named(type, "mmap.mmap");
    PyTypeObject *data = base_named(type, "_ctypes._CData");
    PyObject *name = data ? PyUnicode_InternFromString("_b_needsfree_") : NULL;
    PyObject *member = name ? _PyType_Lookup(data, name) : NULL;
    if (mapping && mapping->tp_as_sequence)
        sizing->length = mapping->tp_as_sequence->sq_length;
    if (member && Py_IS_TYPE(member, &PyMemberDescr_Type))
        sizing->owns = ((PyMemberDescrObject *)member)->d_member;
    Py_XDECREF(name);
    PyErr_Clear();
}

void dw_py_sizing_of(PyTypeObject *type, struct dw_py_sizing *sizing)
{
    PyObject *tell = told_in_c(type);
    *sizing = (struct dw_py_sizing){.basic = type->tp_basicsize,
                                    .item = type->tp_itemsize,
                                    .head = _PyType_PreHeaderSize(type),
                                    .showing = dw_py_showing_of(type)};
    find_buffers(type, sizing);
    if (!tell || sizing->showing || PyDescr_TYPE(tell) == &PyBaseObject_Type)
        return;
    const PyMethodDef *method = ((PyMethodDescrObject *)tell)->d_method;
    sizing->tell = tell;
    if (method->ml_flags == METH_NOARGS && is_of_interpreter(PyDescr_TYPE(tell)))
        sizing->direct = method->ml_meth;
}

bool dw_py_size_is_foreign(const struct dw_py_sizing *sizing)
{
    return sizing->showing || (sizing->tell && !sizing->direct);
}

static size_t head_of(PyObject *object, const struct dw_py_sizing *sizing)
{
    PyTypeObject *type = Py_TYPE(object);
    return type->tp_is_gc && !type->tp_is_gc(object) ? 0 : sizing->head;
}

static size_t length_of(PyObject *mapping, lenfunc length)
{
    Py_ssize_t bytes = length(mapping);
    PyErr_Clear(); /* it may be closed */
    return bytes > 0 ? (size_t)bytes : 0;
}

/* What is small is in the object itself. */
static size_t owned_bytes(PyObject *data, const PyMemberDef *owns)
{
    PyObject *answer = PyMember_GetOne((const char *)data, (PyMemberDef *)owns);
    bool is_owner = answer && PyObject_IsTrue(answer) == 1;
    Py_buffer view;
    size_t bytes = 0;
    Py_XDECREF(answer);
    if (is_owner && !PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) {
        bytes = view.len > INSIDE_BYTES ? (size_t)view.len : 0;
        PyBuffer_Release(&view);
    }
    PyErr_Clear();
    return bytes;
}

static size_t own_size(PyObject *object, const struct dw_py_sizing *sizing)
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

size_t dw_py_size(PyObject *object, const struct dw_py_sizing *sizing)
{
    size_t size = own_size(object, sizing);
    if (sizing->length)
        size += length_of(object, sizing->length);
    return sizing->owns ? size + owned_bytes(object, sizing->owns) : size;
}
