/* SPDX-License-Identifier: MIT
 * dwell._core.CallProfiler: what dwell.Profile is made of. */
#include "probe/call_profiler.h"

#include "base/error.h"
#include "model/call_graph.h"
#include "probe/call_log.h"
#include "probe/calls.h"

#include <stdlib.h>

struct call_profiler {
    PyObject_HEAD struct dw_call_profile profile;
};

static struct dw_call_profile *profile_of(PyObject *self)
{
    return &((struct call_profiler *)self)->profile;
}

static int profiler_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"timer", "timeunit", NULL};
    struct dw_call_profile *profile = profile_of(self);
    PyObject *timer = Py_None;
    double unit = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|Od", names, &timer, &unit))
        return -1;
    Py_XSETREF(profile->timer, timer == Py_None ? NULL : Py_NewRef(timer));
    profile->unit = unit;
    return 0;
}

static PyObject *profiler_enable(PyObject *self, PyObject *arguments)
{
    int builtins = 1;
    if (!PyArg_ParseTuple(arguments, "|p", &builtins))
        return NULL;
    return dw_calls_enable(profile_of(self), builtins) ? NULL : Py_NewRef(Py_None);
}

static PyObject *profiler_disable(PyObject *self, PyObject *unused)
{
    (void)unused;
    dw_calls_disable(profile_of(self));
    Py_RETURN_NONE;
}

static PyObject *profiler_clear(PyObject *self, PyObject *unused)
{
    (void)unused;
    dw_calls_clear(profile_of(self));
    Py_RETURN_NONE;
}

static int add_track(struct dw_call_graph *graph, const struct dw_call_track *track)
{
    struct dw_call_item *items = malloc(track->node_count * sizeof *items);
    if (!items)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < track->node_count; i++) {
        const struct dw_call_node *node = dw_call_track_node(track, i);
        items[i] = (struct dw_call_item){
            .parent = node->parent ? node->parent->index : 0,
            .function = node->function,
            .count = node->count,
            .total = node->total,
            .self = node->self,
        };
    }
    int error = dw_call_graph_add(graph, items, track->node_count);
    free(items);
    return error;
}

static int build_graph(const struct dw_call_profile *profile, struct dw_call_graph *graph)
{
    int error = dw_call_graph_init(graph, profile->function_count);
    for (uint32_t i = 0; i < profile->track_count && !error; i++)
        error = add_track(graph, profile->tracks[i]);
    return error;
}

/* (code or None, name, calls, recursive calls, total, self), and what is taken in `more`. */
static PyObject *entry(const struct dw_call_profile *profile, uint32_t function,
                       const struct dw_call_sums *sums, PyObject *more)
{
    const struct dw_call_function *called = &profile->functions[function];
    if (!more)
        return NULL;
    return Py_BuildValue(
        "(OOKKddN)", called->code ? called->code : Py_None, called->name,
        (unsigned long long)sums->count, (unsigned long long)(sums->count - sums->primitive),
        dw_calls_seconds(profile, sums->total), dw_calls_seconds(profile, sums->self), more);
}

static int append(PyObject *list, PyObject *item)
{
    int error = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return error;
}

/* The entries of all functions, each with a list of those that it called. */
static PyObject *entries(const struct dw_call_profile *profile, const struct dw_call_graph *graph)
{
    PyObject *list = PyList_New(0);
    int error = list ? 0 : -1;
    for (uint32_t i = 0; i < graph->function_count && !error; i++)
        error = append(list, entry(profile, i, &graph->functions[i], PyList_New(0)));
    for (uint32_t i = 0; i < graph->edge_count && !error; i++) {
        const struct dw_call_edge *edge = &graph->edges[i];
        PyObject *callees = PyTuple_GET_ITEM(PyList_GET_ITEM(list, edge->caller), 6);
        error = append(callees, entry(profile, edge->callee, &edge->sums, Py_NewRef(Py_None)));
    }
    if (error)
        Py_CLEAR(list);
    return list;
}

static PyObject *profiler_entries(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct dw_call_graph graph;
    const struct dw_call_profile *profile = profile_of(self);
    PyObject *list = build_graph(profile, &graph) ? PyErr_NoMemory() : entries(profile, &graph);
    dw_call_graph_release(&graph);
    return list;
}

/* log(): the profile as the bytes of a log, for the lenses. */
static PyObject *profiler_log(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct dw_call_log log;
    int error = dw_call_log_open(&log, NULL);
    if (!error)
        error = dw_call_log_flush(&log, profile_of(self), true);
    PyObject *bytes = error ? PyErr_NoMemory()
                            : PyBytes_FromStringAndSize((const char *)log.writer.memory.data,
                                                        (Py_ssize_t)log.writer.memory.size);
    dw_call_log_release(&log);
    return bytes;
}

static void profiler_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    dw_calls_disable(profile_of(self));
    dw_calls_clear(profile_of(self));
    Py_CLEAR(profile_of(self)->timer);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_enable", profiler_enable, METH_VARARGS, NULL},
    {"disable", profiler_disable, METH_NOARGS, PyDoc_STR("Stops collecting calls.")},
    {"clear", profiler_clear, METH_NOARGS, PyDoc_STR("Forgets what was collected so far.")},
    {"_log", profiler_log, METH_NOARGS, NULL},
    {"_entries", profiler_entries, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, profiler_init},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "dwell._core.CallProfiler",
    .basicsize = sizeof(struct call_profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int dw_call_profiler_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "CallProfiler", type) : -1;
    Py_XDECREF(type);
    return error;
}
