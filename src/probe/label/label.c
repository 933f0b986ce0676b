/* SPDX-License-Identifier: MIT
 * The Label type. Its __enter__ and __exit__ are the Label itself (with_itself.h). */
#include "probe/label/label.h"

#include "cpython/sample_walk.h"
#include "probe/label/label_link.h"
#include "probe/label/label_texts.h"
#include "probe/with_itself.h"
#include "record/labels.h"

#include <stdatomic.h>
#include <structmember.h>

struct label {
    PyObject_HEAD vectorcallfunc vectorcall;
    uint64_t serial;
    PyObject *texts; /* keys and values, bytes */
    /* The link that was entered last, and the one that was current then. */
    struct dw_label_link *parent, *link;
};

static PyTypeObject *label_type;
static _Atomic uint64_t last_serial;

static void remember(struct label *self, struct dw_label_link *parent, struct dw_label_link *link)
{
    Py_XSETREF(self->parent, (struct dw_label_link *)Py_NewRef((PyObject *)parent));
    Py_XSETREF(self->link, (struct dw_label_link *)Py_NewRef((PyObject *)link));
}

/* The link of this Label under that one; a new reference. */
static struct dw_label_link *link_under(void *label, struct dw_label_link *parent)
{
    struct label *self = label;
    struct dw_label_link *link;
    Py_BEGIN_CRITICAL_SECTION(self);
    if (__builtin_expect(self->parent == parent, 1)) {
        link = (struct dw_label_link *)Py_NewRef((PyObject *)self->link);
    } else {
        link = dw_label_link_new(parent, self->serial, self->texts);
        if (link)
            remember(self, parent, link);
    }
    Py_END_CRITICAL_SECTION();
    return link;
}

static PyObject *enter(struct label *self)
{
    return dw_label_link_enter(link_under, self) ? NULL : Py_NewRef((PyObject *)self);
}

static PyObject *decorate(PyObject *self, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("dwell._labels");
    PyObject *made = module ? PyObject_CallMethod(module, "decorate", "OO", self, function) : NULL;
    Py_XDECREF(module);
    return made;
}

/* No arguments: __enter__. Three: __exit__. One: a function to decorate. */
static PyObject *label_vectorcall(PyObject *object, PyObject *const *arguments, size_t flags,
                                  PyObject *keywords)
{
    struct label *self = (struct label *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count == 0 && !keywords)
        return enter(self);
    if (count == 3 && !keywords)
        return dw_label_link_leave(self->serial) ? NULL : Py_NewRef(Py_None);
    if (count == 1 && !keywords)
        return decorate(object, arguments[0]);
    PyErr_SetString(PyExc_TypeError, "a label is for 'with', or decorates a function");
    return NULL;
}

static void label_dealloc(PyObject *object)
{
    struct label *self = (struct label *)object;
    Py_XDECREF(self->texts);
    Py_XDECREF((PyObject *)self->parent);
    Py_XDECREF((PyObject *)self->link);
    PyObject_Free(object);
    Py_DECREF(label_type);
}

static PyObject *label_repr(PyObject *object)
{
    PyObject *labels = dw_label_texts_dict(((struct label *)object)->texts);
    PyObject *repr = labels ? PyUnicode_FromFormat("<dwell label %R>", labels) : NULL;
    Py_XDECREF(labels);
    return repr;
}

static PyMemberDef label_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct label, vectorcall), READONLY, NULL},
    {0},
};

static PyType_Slot label_slots[] = {
    {Py_tp_dealloc, label_dealloc},
    {Py_tp_repr, label_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, label_members},
    {0, NULL},
};

static PyType_Spec label_spec = {
    .name = "dwell._core.Label",
    .basicsize = sizeof(struct label),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = label_slots,
};

static PyObject *make_label(PyObject *texts)
{
    struct label *label = PyObject_New(struct label, label_type);
    if (!label)
        return NULL;
    label->vectorcall = label_vectorcall;
    label->serial = atomic_fetch_add(&last_serial, 1) + 1;
    label->texts = Py_NewRef(texts);
    label->parent = label->link = NULL;
    return (PyObject *)label;
}

/* Literal values come back as the same objects, with the same tuple of keys: one look finds their
 * Label. It is for one label, whose value is a str and thus what it was. */
#define CACHE_SIZE 256
static struct {
    PyObject *keys, *value, *label;
} cache[CACHE_SIZE];

static PyObject *cached(PyObject *keys, PyObject *value, size_t at)
{
    PyObject *label = NULL;
    Py_BEGIN_CRITICAL_SECTION(label_type);
    if (cache[at].keys == keys && cache[at].value == value)
        label = Py_NewRef(cache[at].label);
    Py_END_CRITICAL_SECTION();
    return label;
}

static void put_in_cache(PyObject *keys, PyObject *value, PyObject *label, size_t at)
{
    Py_BEGIN_CRITICAL_SECTION(label_type);
    Py_XSETREF(cache[at].keys, Py_NewRef(keys));
    Py_XSETREF(cache[at].value, Py_NewRef(value));
    Py_XSETREF(cache[at].label, Py_NewRef(label));
    Py_END_CRITICAL_SECTION();
}

static PyObject *new_label(PyObject *keys, PyObject *const *values)
{
    PyObject *texts = dw_label_link_start() ? NULL : dw_label_texts_new(keys, values);
    PyObject *label = texts ? make_label(texts) : NULL;
    Py_XDECREF(texts);
    return label;
}

PyObject *dw_label_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *keywords)
{
    (void)module;
    if (count || !keywords || !PyTuple_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError,
                        "label() takes labels by name: label(endpoint=\"/x\", user=3)");
        return NULL;
    }
    if (PyTuple_GET_SIZE(keywords) > 1 || !PyUnicode_CheckExact(arguments[0]))
        return new_label(keywords, arguments);
    size_t at = ((uintptr_t)arguments[0] >> 4 ^ (uintptr_t)keywords >> 5) % CACHE_SIZE;
    PyObject *label = cached(keywords, arguments[0], at);
    if (label)
        return label;
    label = new_label(keywords, arguments);
    if (label)
        put_in_cache(keywords, arguments[0], label, at);
    return label;
}

PyObject *dw_label_py_start(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (dw_label_link_start())
        return NULL;
    const char *problem = dw_py_labels_problem();
    return problem ? PyUnicode_FromString(problem) : Py_NewRef(Py_None);
}

PyObject *dw_label_py_labels(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return dw_label_set_dict(dw_labels_get(dw_label_link_now()->id));
}

static uint32_t read_own(void)
{
    const PyThreadState *thread = dw_py_sampled_thread();
    return thread ? dw_py_labels_own(thread) : 0;
}

PyObject *dw_label_py_reader(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyCapsule_New((void *)(uintptr_t)read_own, NULL, NULL);
}

PyObject *dw_label_py_ids(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    static _Thread_local struct dw_py_labels_seen seen;
    const PyThreadState *thread = PyThreadState_Get();
    return Py_BuildValue("III", dw_py_labels_own(thread), dw_py_labels_now(thread, &seen),
                         dw_py_labels_of_sleeper(thread));
}

int dw_label_init(PyObject *module)
{
    label_type = (PyTypeObject *)PyType_FromSpec(&label_spec);
    if (!label_type || dw_with_itself(label_type) || dw_label_link_init())
        return -1;
    return PyModule_AddObjectRef(module, "Label", (PyObject *)label_type);
}
