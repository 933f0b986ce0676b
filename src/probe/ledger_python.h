/* SPDX-License-Identifier: MIT
 * Names that are Python objects, in a ledger; and ledgers in memory, as Python objects. With the
 * GIL. */
#ifndef DW_PROBE_LEDGER_PYTHON_H
#define DW_PROBE_LEDGER_PYTHON_H

#include "record/ledger.h"

#include <Python.h>

/* A Python string of any kind. */
int dw_ledger_text(struct dw_ledger *ledger, PyObject *text, dw_string_id *id);
/* The frame of Python code, or with `code` NULL of a C function. */
int dw_ledger_function(struct dw_ledger *ledger, PyObject *name, const PyCodeObject *code,
                       dw_frame_id *id);
/* The bytes of a log in memory, or an exception. Releases the ledger. */
PyObject *dw_ledger_take_bytes(struct dw_ledger *ledger, int error);

#endif
