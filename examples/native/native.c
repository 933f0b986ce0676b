/* SPDX-License-Identifier: MIT
 * A Python extension whose C functions are regions in the same tree as Python's. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dwell.h>

static double filter(double *values, Py_ssize_t count)
{
    DW_REGION("filter");
    double sum = 0;
    for (Py_ssize_t i = 1; i < count; i++) {
        values[i] = 0.5 * values[i] + 0.5 * values[i - 1];
        sum += values[i];
    }
    return sum;
}

/* smooth(buffer of doubles, passes): runs without the GIL. */
static PyObject *smooth(PyObject *module, PyObject *arguments)
{
    Py_buffer buffer;
    int passes;
    double sum = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*i", &buffer, &passes))
        return NULL;
    {
        DW_REGION("smooth");
        Py_BEGIN_ALLOW_THREADS for (int i = 0; i < passes; i++) sum +=
            filter(buffer.buf, buffer.len / (Py_ssize_t)sizeof(double));
        Py_END_ALLOW_THREADS dw_count("passes", passes);
    }
    PyBuffer_Release(&buffer);
    return PyFloat_FromDouble(sum);
}

static PyMethodDef methods[] = {{"smooth", smooth, METH_VARARGS, NULL}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "native",
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_native(void);
PyMODINIT_FUNC PyInit_native(void)
{
    return PyModule_Create(&definition);
}
