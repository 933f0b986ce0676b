/* SPDX-License-Identifier: MIT
 * C functions by the names that cProfile gives them. No code of the user runs for it. */
#include "probe/call/calls.h"

/* What repr() says of a method descriptor. It is not called, because repr() runs signal handlers,
 * and the exception of one would be lost here. */
static PyObject *descriptor_name(PyObject *descriptor)
{
    return PyUnicode_FromFormat("<method '%U' of '%s' objects>", PyDescr_NAME(descriptor),
                                PyDescr_TYPE(descriptor)->tp_name);
}

/* "<method 'append' of 'list' objects>", when the type of self has it as such a method. */
static PyObject *method_name(PyObject *self, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *found = key ? _PyType_Lookup(Py_TYPE(self), key) : NULL; /* borrowed */
    Py_XDECREF(key);
    if (!found ||
        (!Py_IS_TYPE(found, &PyMethodDescr_Type) && !Py_IS_TYPE(found, &PyClassMethodDescr_Type)))
        return NULL;
    return descriptor_name(found);
}

PyObject *dw_call_c_name(PyObject *callable, PyObject *self)
{
    (void)self;
    if (!PyCFunction_Check(callable))
        return descriptor_name(callable);
    PyCFunctionObject *function = (PyCFunctionObject *)callable;
    const char *name = function->m_ml->ml_name;
    PyObject *bound_to = PyCFunction_GET_SELF(callable); /* borrowed; NULL for static methods */
    PyObject *method = bound_to ? method_name(bound_to, name) : NULL;
    if (method || PyErr_Occurred())
        return method;
    PyObject *module = function->m_module;
    if (module && PyUnicode_Check(module))
        return PyUnicode_FromFormat("<built-in method %U.%s>", module, name);
    return PyUnicode_FromFormat("<built-in method %s>", name);
}
