/* SPDX-License-Identifier: MIT
 * An iterator whose every next() is an entry of a region. */
#include "probe/region/iter_proxy.h"

#include "probe/region/region.h"

struct iter_proxy {
    PyObject_HEAD PyObject *iterator;
    PyObject *region;
};

static PyTypeObject *iter_proxy_type;

static PyObject *proxy_next(PyObject *object)
{
    struct iter_proxy *self = (struct iter_proxy *)object;
    struct dw_region *region = (struct dw_region *)self->region;
    dw_region_enter_now(region);
    PyObject *item = Py_TYPE(self->iterator)->tp_iternext(self->iterator);
    bool ended = !item && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_StopIteration));
    dw_region_exit_now(region, !ended);
    return item;
}

static int proxy_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((struct iter_proxy *)object)->iterator);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int proxy_clear(PyObject *object)
{
    Py_CLEAR(((struct iter_proxy *)object)->iterator);
    return 0;
}

static void proxy_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    proxy_clear(object);
    Py_XDECREF(((struct iter_proxy *)object)->region);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

/* Whatever else the iterator can do (send, close, __length_hint__, ...) it still does. */
static PyObject *proxy_getattr(PyObject *object, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(object, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((struct iter_proxy *)object)->iterator, name);
}

static PyType_Slot proxy_slots[] = {
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, proxy_next},
    {Py_tp_traverse, proxy_traverse},
    {Py_tp_clear, proxy_clear},
    {Py_tp_dealloc, proxy_dealloc},
    {Py_tp_getattro, proxy_getattr},
    {0, NULL},
};

static PyType_Spec proxy_spec = {
    .name = "dwell._core.IterProxy",
    .basicsize = sizeof(struct iter_proxy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = proxy_slots,
};

PyObject *dw_iter_proxy_new(PyObject *iterable, PyObject *region)
{
    PyObject *iterator = PyObject_GetIter(iterable);
    if (!iterator)
        return NULL;
    struct iter_proxy *proxy = PyObject_GC_New(struct iter_proxy, iter_proxy_type);
    if (!proxy) {
        Py_DECREF(iterator);
        return NULL;
    }
    proxy->iterator = iterator;
    proxy->region = Py_NewRef(region);
    PyObject_GC_Track(proxy);
    return (PyObject *)proxy;
}

int dw_iter_proxy_init(void)
{
    iter_proxy_type = (PyTypeObject *)PyType_FromSpec(&proxy_spec);
    return iter_proxy_type ? 0 : -1;
}
