/* SPDX-License-Identifier: MIT
 * The bytes of an object as sys.getsizeof counts them, without running Python code. */
#ifndef DW_CPYTHON_HEAP_SIZE_H
#define DW_CPYTHON_HEAP_SIZE_H

#include "cpython/heap/heap_buffers.h"

#include <Python.h>
#include <structmember.h>

#include <stdbool.h>

/* How the objects of a type tell their size. */
struct dw_py_sizing {
    Py_ssize_t basic, item;
    size_t head;    /* what lies before the object, for the garbage collector and its attributes */
    PyObject *tell; /* a __sizeof__ in C, borrowed from its type; NULL: basic and items */
    PyCFunction direct; /* the function of `tell`, of a type of the interpreter; else NULL */
    lenfunc length;     /* of mmap: the bytes that are mapped, which it does not tell; else NULL */
    const PyMemberDef *owns;    /* of ctypes: whether the object owns its memory; else NULL */
    enum dw_py_showing showing; /* memory that others may show as well is no part of the size */
};

void dw_py_sizing_of(PyTypeObject *type, struct dw_py_sizing *sizing);
/* Whether code of an extension module must be asked: it might let other threads run. */
bool dw_py_size_is_foreign(const struct dw_py_sizing *sizing);
size_t dw_py_size(PyObject *object, const struct dw_py_sizing *sizing);

#endif
