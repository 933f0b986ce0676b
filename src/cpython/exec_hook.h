/* SPDX-License-Identifier: MIT
 * Code that is about to be executed as a whole: modules that are imported, and the
 * program itself. */
#ifndef DW_CPYTHON_EXEC_HOOK_H
#define DW_CPYTHON_EXEC_HOOK_H

#include <Python.h>

/* From now on calls the function with each such code object; what it raises is dropped. The
 * interpreter cannot take the hook out again, so None only keeps it quiet. -1 with an exception. */
int dw_py_exec_hook(PyObject *function);

#endif
