/* SPDX-License-Identifier: MIT
 * Names in a picture of the heap, as copies: it keeps nothing of the program. */
#ifndef DW_PROBE_HEAP_NAMES_H
#define DW_PROBE_HEAP_NAMES_H

#include "model/string_table.h"

#include <Python.h>

/* Id 0 for what is no string. The text itself stays as it is. */
int dw_heap_name(struct dw_string_table *names, PyObject *text, dw_string_id *id);
/* A type's name without the module that it is in. No Python code is run for it. */
int dw_heap_type_name(struct dw_string_table *names, PyTypeObject *type, dw_string_id *module,
                      dw_string_id *name);
PyObject *dw_heap_text(const struct dw_string_table *names, dw_string_id id);

#endif
