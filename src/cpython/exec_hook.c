/* SPDX-License-Identifier: MIT
 * An audit hook: the interpreter audits "exec" for modules and for the program alike. It keeps the
 * program's exception as it was. */
#include "cpython/exec_hook.h"

#include <stdbool.h>
#include <string.h>

static PyObject *function;
static PyInterpreterState *home; /* the function's: other interpreters may not touch it */

static int on_audit(const char *event, PyObject *arguments, void *unused)
{
    (void)unused;
    if (!function || strcmp(event, "exec") != 0 || PyInterpreterState_Get() != home)
        return 0;
    PyObject *code = PyTuple_GET_SIZE(arguments) ? PyTuple_GET_ITEM(arguments, 0) : Py_None;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *called = PyCode_Check(code) ? PyObject_CallOneArg(function, code) : NULL;
    Py_XDECREF(called);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return 0;
}

int dw_py_exec_hook(PyObject *wanted)
{
    static bool installed;
    Py_XSETREF(function, wanted == Py_None ? NULL : Py_NewRef(wanted));
    home = PyInterpreterState_Get();
    if (installed || !function)
        return 0;
    installed = !PySys_AddAuditHook(on_audit, NULL);
    return installed ? 0 : -1;
}
