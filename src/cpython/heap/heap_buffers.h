/* SPDX-License-Identifier: MIT
 * Memory that several objects of a library show, and that none of them owns alone: Arrow's buffers
 * and PyTorch's storages. The libraries are known by the names of their types; none is imported. */
#ifndef DW_CPYTHON_HEAP_BUFFERS_H
#define DW_CPYTHON_HEAP_BUFFERS_H

#include <Python.h>

#include <stdbool.h>

/* How the objects of a type tell what they show. */
enum dw_py_showing {
    DW_PY_SHOWS_NOTHING,
    DW_PY_ARROW_BUFFER,
    DW_PY_ARROW_ARRAY,
    DW_PY_ARROW_CHUNKS,
    DW_PY_ARROW_COLUMNS,
    DW_PY_TORCH_TENSOR,
    DW_PY_TORCH_STORAGE,
};

enum dw_py_showing dw_py_showing_of(PyTypeObject *type);
/* Whether tensors of the type can be asked without running Python code of a subclass. */
bool dw_py_is_plain_tensor(PyTypeObject *type);
/* The object of a tensor's storage, borrowed; NULL when there is none that stays. */
PyObject *dw_py_tensor_storage(PyObject *tensor);
/* Visits where each piece of memory begins and its bytes; stops when a visit gives nonzero. Code of
 * the library runs, but none that is written in Python. */
typedef int dw_py_buffer_visit(uintptr_t start, size_t bytes, void *argument);
int dw_py_buffers(PyObject *object, enum dw_py_showing showing, dw_py_buffer_visit *visit,
                  void *argument);
/* Where the data of a NumPy array lie; 0 when they belong to its base. */
uintptr_t dw_py_array_data(PyObject *array, const PyGetSetDef *base);

#endif
