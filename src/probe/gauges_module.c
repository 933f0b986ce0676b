/* SPDX-License-Identifier: MIT
 * The gauges themselves need no Python; only their flusher comes back after a fork by its help. */
#include "probe/gauges_module.h"

#include "probe/render.h"
#include "record/gauges.h"

PyObject *dw_gauges_py_start(PyObject *module, PyObject *arguments)
{
    PyObject *file, *path = NULL;
    unsigned long long interval_ns;
    int pss;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OKp", &file, &interval_ns, &pss))
        return NULL;
    if (file != Py_None && !PyUnicode_FSConverter(file, &path))
        return NULL;
    struct dw_gauges_options options = {.log_file = path ? PyBytes_AS_STRING(path) : NULL,
                                        .interval_ns = interval_ns,
                                        .pss = pss};
    dw_call_soon = Py_AddPendingCall;
    int error = dw_gauges_start(&options);
    PyObject *result = error ? dw_raise_error(error, options.log_file) : Py_NewRef(Py_None);
    Py_XDECREF(path);
    return result;
}

PyObject *dw_gauges_py_stop(PyObject *module, PyObject *unused)
{
    struct dw_buffer bytes = {0};
    (void)module, (void)unused;
    int error = dw_gauges_stop(&bytes);
    PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.size);
    dw_buffer_release(&bytes);
    return result;
}
