/* SPDX-License-Identifier: MIT
 * Functions of Python that are called when regions of a name begin and end. */
#ifndef DW_PROBE_REGION_REGION_HOOK_H
#define DW_PROBE_REGION_REGION_HOOK_H

#include <Python.h>
#include <stdbool.h>

/* on_region(name, function): calls function(text) whenever a region of that name begins or ends,
 * if the region is made later. The text says which. */
PyObject *dw_region_py_on(PyObject *module, PyObject *arguments);
/* Whether somebody wants to know of the name. */
bool dw_region_is_watched(PyObject *name);
void dw_region_tell(PyObject *name, const char *what);

#endif
