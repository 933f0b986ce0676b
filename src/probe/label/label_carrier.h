/* SPDX-License-Identifier: MIT
 * A callable that runs another one with the labels that were current when it was made. */
#ifndef DW_PROBE_LABEL_LABEL_CARRIER_H
#define DW_PROBE_LABEL_LABEL_CARRIER_H

#include <Python.h>

int dw_label_carrier_init(void);
/* carry(function): the function itself when there are no labels. */
PyObject *dw_label_py_carry(PyObject *module, PyObject *function);

#endif
