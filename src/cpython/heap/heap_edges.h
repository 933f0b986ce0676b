/* SPDX-License-Identifier: MIT
 * What an object refers to: what it tells the garbage collector, and what some types keep to
 * themselves. No Python code is run, and no dictionary is made for an instance that has none. */
#ifndef DW_CPYTHON_HEAP_EDGES_H
#define DW_CPYTHON_HEAP_EDGES_H

#include "cpython/frame.h"

/* What one has to know of a type; the same for all its objects. */
struct dw_py_edge_kind {
    bool is_traversed, is_dict, is_code, is_tensor;
    bool has_values;    /* objects may have their attributes' values in themselves */
    PyGetSetDef *base;  /* of a NumPy array or a tensor: what owns its data */
    PyGetSetDef *dtype; /* of a NumPy array: of what type these are */
};

void dw_py_edge_kind_of(PyTypeObject *type, struct dw_py_edge_kind *kind);
/* Visits every reference, as often as it is held; stops when a visit gives nonzero. */
int dw_py_edges(PyObject *object, const struct dw_py_edge_kind *kind, visitproc visit,
                void *argument);

/* Visits what a running function holds: its variables with their names, the rest with NULL. What is
 * on its stack of values is not seen. */
typedef int dw_py_variable_visit(PyObject *object, PyObject *name, void *argument);
int dw_py_frame_edges(dw_py_frame *frame, dw_py_variable_visit *visit, void *argument);
/* The innermost frame that a thread runs, or NULL; the calling thread holds the GIL. */
dw_py_frame *dw_py_thread_frame(PyThreadState *thread);
int dw_py_frame_line(dw_py_frame *frame);
/* Whether a function of a module runs, told by the start of the module's name. */
bool dw_py_frame_is_of(dw_py_frame *frame, const char *module);

#endif
