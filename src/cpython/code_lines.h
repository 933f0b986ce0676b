/* SPDX-License-Identifier: MIT
 * Which lines of a code object can run. */
#ifndef DW_CPYTHON_CODE_LINES_H
#define DW_CPYTHON_CODE_LINES_H

#include <Python.h>

#include <stdint.h>

typedef void dw_py_line_visit(void *context, uint32_t line);

/* Visits each line that has an instruction of the program, perhaps more than once. Instructions on
 * the line of the `def` that only set a call up do not count. -1 with an exception. */
int dw_py_code_lines(PyCodeObject *code, dw_py_line_visit *visit, void *context);

#endif
