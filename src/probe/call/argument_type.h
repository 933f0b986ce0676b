/* SPDX-License-Identifier: MIT
 * What is known about the types of arguments beyond their names: NumPy arrays by the layout of
 * their C struct, other types by a function that describes them. */
#ifndef DW_PROBE_CALL_ARGUMENT_TYPE_H
#define DW_PROBE_CALL_ARGUMENT_TYPE_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* The begin of PyArrayObject, the same in every NumPy. */
struct dw_array {
    PyObject_HEAD char *data;
    int rank;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    PyObject *base;
    PyObject *dtype;
    int flags;
};

enum { DW_ARRAY_C_ORDER = 1, DW_ARRAY_F_ORDER = 2, DW_ARRAY_RANK_MAX = 64 };

/* numpy.ndarray, once an array's layout was found to be right; NULL before. */
extern PyTypeObject *dw_array_type;
extern uint32_t dw_described_count;

/* 0, or -1 with an exception. The types of libraries are found by dwell.describers. */
int dw_argument_types_init(void);

/* The dtype's text. Texts are borrowed, one object for equal ones, and live for ever. */
PyObject *dw_dtype_text(PyObject *dtype);

bool dw_type_is_described(PyTypeObject *type);
/* What the type's function says of the object; NULL when it fails. Runs Python code. */
PyObject *dw_described_text(PyObject *object);
/* Gives a type its function; NULL takes it away. */
int dw_type_describe(PyTypeObject *type, PyObject *function);

/* Looks at a type that a signature has for the first time. May run Python code. */
void dw_argument_type_learn(PyObject *object);

/* The name without the module, as type.__name__, without asking a metaclass; new reference. */
PyObject *dw_type_name(PyTypeObject *type);

#endif
