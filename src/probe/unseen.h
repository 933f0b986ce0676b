/* SPDX-License-Identifier: MIT
 * dwell._core.Unseen: what dwell does in Python, in the middle of the program, for one probe, the
 * other probes do not take for the program's. */
#ifndef DW_PROBE_UNSEEN_H
#define DW_PROBE_UNSEEN_H

#include <Python.h>

/* Adds the type to the module; -1 with an exception. */
int dw_unseen_init(PyObject *module);

#endif
