/* SPDX-License-Identifier: MIT
 * The probe of memory as functions of dwell._core. */
#include "probe/memory/memory_probe.h"

#include "probe/memory/alloc_events.h"
#include "probe/memory/python_hooks.h"
#include "probe/render.h"

/* start(log_file, exact, only the calling thread) */
PyObject *dw_memory_py_start(PyObject *module, PyObject *arguments)
{
    PyObject *file, *path = NULL;
    int exact, of_caller = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Op|p", &file, &exact, &of_caller))
        return NULL;
    if (file != Py_None && !PyUnicode_FSConverter(file, &path))
        return NULL;
    struct dw_memory_options options = {.log_file = path ? PyBytes_AS_STRING(path) : NULL,
                                        .is_exact = exact,
                                        .is_of_caller = of_caller};
    int error = dw_memory_start(&options);
    PyObject *result = error ? dw_raise_error(error, options.log_file) : Py_NewRef(Py_None);
    Py_XDECREF(path);
    return result;
}

/* stop(): what was recorded in memory, b"" when there is a file. */
PyObject *dw_memory_py_stop(PyObject *module, PyObject *unused)
{
    struct dw_buffer bytes = {0};
    (void)module, (void)unused;
    int error = dw_memory_stop(&bytes);
    dw_python_hooks_remove();
    PyObject *result =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.size);
    dw_buffer_release(&bytes);
    return result;
}

/* mark(name): what is allocated from now on has it as a label; None: none. */
PyObject *dw_memory_py_mark(PyObject *module, PyObject *name)
{
    (void)module;
    const char *text = name == Py_None ? NULL : PyUnicode_AsUTF8(name);
    if (!text && name != Py_None)
        return NULL;
    int error = dw_alloc_mark(text);
    return error ? dw_raise_error(error, NULL) : Py_NewRef(Py_None);
}

PyObject *dw_memory_py_is_on(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(dw_memory_is_on());
}
