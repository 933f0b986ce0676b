/* SPDX-License-Identifier: MIT
 * The descriptor that both names lead to gives back the object that it is looked up on. */
#include "probe/with_itself.h"

struct itself {
    PyObject_HEAD PyTypeObject *type; /* whose descriptor it is; both live for good */
};

static PyObject *itself_get(PyObject *descriptor, PyObject *object, PyObject *type)
{
    (void)type;
    return Py_NewRef(object ? object : descriptor);
}

static PyObject *itself_call(PyObject *descriptor, PyObject *arguments, PyObject *keywords)
{
    PyTypeObject *type = ((struct itself *)descriptor)->type;
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count < 1 || !PyObject_TypeCheck(PyTuple_GET_ITEM(arguments, 0), type)) {
        PyErr_Format(PyExc_TypeError, "the first argument must be a %s",
                     strrchr(type->tp_name, '.') + 1);
        return NULL;
    }
    PyObject *rest = PyTuple_GetSlice(arguments, 1, count);
    PyObject *result = rest ? PyObject_Call(PyTuple_GET_ITEM(arguments, 0), rest, keywords) : NULL;
    Py_XDECREF(rest);
    return result;
}

static PyType_Slot itself_slots[] = {
    {Py_tp_descr_get, itself_get},
    {Py_tp_call, itself_call},
    {0, NULL},
};

static PyType_Spec itself_spec = {
    .name = "dwell._core._Itself",
    .basicsize = sizeof(struct itself),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = itself_slots,
};

PyObject *dw_only_instance(PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);
    PyObject *instance = type ? type->tp_alloc(type, 0) : NULL;
    Py_XDECREF(type);
    return instance;
}

int dw_with_methods(PyTypeObject *type, PyObject *method)
{
    if (PyDict_SetItemString(type->tp_dict, "__enter__", method) ||
        PyDict_SetItemString(type->tp_dict, "__exit__", method))
        return -1;
    PyType_Modified(type);
    return 0;
}

int dw_with_itself(PyTypeObject *type)
{
    PyObject *itself = dw_only_instance(&itself_spec);
    if (!itself)
        return -1;
    ((struct itself *)itself)->type = type;
    int error = dw_with_methods(type, itself);
    Py_DECREF(itself);
    return error;
}
