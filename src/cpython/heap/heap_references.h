/* SPDX-License-Identifier: MIT
 * How an object holds others, in the words of the program: attributes, keys, indexes. No Python
 * code is run, and no dictionary is made for an instance that has none. */
#ifndef DW_CPYTHON_HEAP_REFERENCES_H
#define DW_CPYTHON_HEAP_REFERENCES_H

#include <Python.h>
#include <stdbool.h>

enum dw_py_reference_kind {
    DW_PY_REFERENCE_ATTRIBUTE, /* `attribute`, or else `name` */
    DW_PY_REFERENCE_KEY,       /* `name` is the key of a dictionary */
    DW_PY_REFERENCE_AS_KEY,    /* it is a key itself */
    DW_PY_REFERENCE_INDEX,
    DW_PY_REFERENCE_ELEMENT, /* of a set */
};

struct dw_py_reference {
    enum dw_py_reference_kind kind;
    const char *attribute; /* UTF-8 */
    PyObject *name;        /* borrowed */
    Py_ssize_t index;
};

typedef void dw_py_reference_visit(PyObject *held, const struct dw_py_reference *how,
                                   void *argument);
/* Visits the references of an object that have names; it may have others. */
void dw_py_references(PyObject *holder, dw_py_reference_visit *visit, void *argument);
/* What can be told of a reference that has no name, by the type of what is held, which need not be
 * there any more. False: nothing. */
bool dw_py_reference_by_type(PyObject *holder, uintptr_t held, uintptr_t held_type,
                             struct dw_py_reference *how);
/* How one object holds another; false when it cannot be told. */
bool dw_py_reference_between(PyObject *holder, PyObject *held, struct dw_py_reference *how);

#endif
