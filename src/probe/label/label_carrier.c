/* SPDX-License-Identifier: MIT
 * Only the labels are carried: everything else in the context is that of the thread which runs
 * the function, as without dwell. */
#include "probe/label/label_carrier.h"

#include "probe/label/label_link.h"

#include <structmember.h>

struct carrier {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *function;
    struct dw_label_link *link;
};

static PyTypeObject *carrier_type;

/* The exception of the function, if there is one, is what its caller gets. */
static void put_back(struct dw_label_link *before)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (dw_label_link_set(before))
        PyErr_Clear(); /* out of memory: these labels stay */
    PyErr_Restore(type, value, traceback);
}

static PyObject *carrier_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                    PyObject *keywords)
{
    struct carrier *self = (struct carrier *)object;
    PyObject *before = Py_NewRef((PyObject *)dw_label_link_now());
    PyObject *result = NULL;
    if (!dw_label_link_set(self->link)) {
        result = PyObject_Vectorcall(self->function, arguments, flags, keywords);
        put_back((struct dw_label_link *)before);
    }
    Py_DECREF(before);
    return result;
}

static int carrier_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((struct carrier *)object)->function);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int carrier_clear(PyObject *object)
{
    Py_CLEAR(((struct carrier *)object)->function);
    return 0;
}

static void carrier_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    carrier_clear(object);
    Py_XDECREF((PyObject *)((struct carrier *)object)->link);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

/* Whoever asks about the function gets its answers. */
static PyObject *carrier_getattr(PyObject *object, PyObject *name)
{
    return PyObject_GetAttr(((struct carrier *)object)->function, name);
}

static PyObject *carrier_repr(PyObject *object)
{
    return PyObject_Repr(((struct carrier *)object)->function);
}

static PyMemberDef carrier_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct carrier, vectorcall), READONLY, NULL},
    {0},
};

static PyType_Slot carrier_slots[] = {
    {Py_tp_call, PyVectorcall_Call},   {Py_tp_traverse, carrier_traverse},
    {Py_tp_clear, carrier_clear},      {Py_tp_dealloc, carrier_dealloc},
    {Py_tp_getattro, carrier_getattr}, {Py_tp_repr, carrier_repr},
    {Py_tp_members, carrier_members},  {0, NULL},
};

static PyType_Spec carrier_spec = {
    .name = "dwell._core._Carrier",
    .basicsize = sizeof(struct carrier),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = carrier_slots,
};

PyObject *dw_label_py_carry(PyObject *module, PyObject *function)
{
    (void)module;
    struct dw_label_link *link = dw_label_link_now();
    if (!link->id)
        return Py_NewRef(function);
    struct carrier *carrier = PyObject_GC_New(struct carrier, carrier_type);
    if (!carrier)
        return NULL;
    carrier->vectorcall = carrier_vectorcall;
    carrier->function = Py_NewRef(function);
    carrier->link = (struct dw_label_link *)Py_NewRef((PyObject *)link);
    PyObject_GC_Track(carrier);
    return (PyObject *)carrier;
}

int dw_label_carrier_init(void)
{
    carrier_type = (PyTypeObject *)PyType_FromSpec(&carrier_spec);
    return carrier_type ? 0 : -1;
}
