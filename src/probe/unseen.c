/* SPDX-License-Identifier: MIT
 * An instance can be called, which calls its method _unseen. The call has no event of its own, as
 * no C function is called; those inside are muted, and samples of them are dwell's own work. */
#define _GNU_SOURCE
#include "probe/unseen.h"

#include "probe/call/calls.h"
#include "probe/sample/sample_slot.h"

#include <unistd.h>

static PyObject *unseen_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *method = PyObject_GetAttrString(self, "_unseen");
    if (!method)
        return NULL;
    bool was_muted = dw_calls_mute(true), is_nested = dw_own_work_is_in(gettid());
    if (!is_nested)
        dw_own_work_begin();
    PyObject *result = PyObject_Call(method, arguments, keywords);
    if (!is_nested)
        dw_own_work_end();
    dw_calls_mute(was_muted);
    Py_DECREF(method);
    return result;
}

static PyType_Slot slots[] = {{Py_tp_call, unseen_call}, {0, NULL}};

static PyType_Spec spec = {
    .name = "dwell._core.Unseen",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int dw_unseen_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "Unseen", type) : -1;
    Py_XDECREF(type);
    return error;
}
