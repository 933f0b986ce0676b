/* SPDX-License-Identifier: MIT
 * The keys and values of labels, between Python's objects and bytes. */
#ifndef DW_PROBE_LABEL_LABEL_TEXTS_H
#define DW_PROBE_LABEL_LABEL_TEXTS_H

#include <Python.h>

#include "record/labels.h"

/* A tuple of bytes, each key before its value. Keys that are not identifiers, or are reserved,
 * are a ValueError. */
PyObject *dw_label_texts_new(PyObject *keys, PyObject *const *values);
/* The same as a dict of str. */
PyObject *dw_label_texts_dict(PyObject *texts);
PyObject *dw_label_set_dict(const struct dw_labels *set);

#endif
