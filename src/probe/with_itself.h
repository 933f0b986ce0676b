/* SPDX-License-Identifier: MIT
 * Types for `with`, which looks up __enter__ and __exit__ and calls what it finds. Where both are
 * the object itself, which tells them apart by the number of arguments, two bound-method objects
 * an entry are saved. */
#ifndef DW_PROBE_WITH_ITSELF_H
#define DW_PROBE_WITH_ITSELF_H

#include <Python.h>

/* Makes each object of the type its own __enter__ and __exit__. Looked up on the type they take
 * the object first. 0, or -1 with an exception. */
int dw_with_itself(PyTypeObject *type);
/* Makes `method` what `with` finds on the type. 0, or -1 with an exception. */
int dw_with_methods(PyTypeObject *type, PyObject *method);
/* An instance of a new type, both new; the type lives as long as the instance. */
PyObject *dw_only_instance(PyType_Spec *spec);

#endif
