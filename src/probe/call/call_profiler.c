/* SPDX-License-Identifier: MIT
 * dwell.CallTracer: what dwell.Profile is made of. */
#include "probe/call/call_profiler.h"

#include "base/error.h"
#include "model/call_graph.h"
#include "probe/call/argument_type.h"
#include "probe/call/call_log.h"
#include "probe/call/calls.h"
#include "probe/ledger_python.h"
#include "probe/render.h"

#include <stdlib.h>

#define SIGNATURES_MAX 1000 /* of one function, unless the user says otherwise */

struct call_profiler {
    PyObject_HEAD struct dw_call_profile profile;
};

static struct dw_call_profile *profile_of(PyObject *self)
{
    return &((struct call_profiler *)self)->profile;
}

static int profiler_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"timer", "timeunit", "signatures", "elements", "max_signatures", NULL};
    struct dw_call_profile *profile = profile_of(self);
    PyObject *timer = Py_None;
    double unit = 0;
    int signatures = 0, elements = 0;
    unsigned limit = SIGNATURES_MAX;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OdppI", names, &timer, &unit,
                                     &signatures, &elements, &limit))
        return -1;
    if (signatures && dw_argument_types_init())
        return -1;
    Py_XSETREF(profile->timer, timer == Py_None ? NULL : Py_NewRef(timer));
    profile->unit = unit;
    profile->signatures.on = signatures;
    profile->signatures.elements = elements;
    profile->signatures.limit = limit;
    return 0;
}

static PyObject *profiler_enable(PyObject *self, PyObject *arguments)
{
    int builtins = 1, waits_for_main = 0, all_threads = 1;
    struct dw_call_profile *profile = profile_of(self);
    if (!PyArg_ParseTuple(arguments, "|ppp", &builtins, &waits_for_main, &all_threads))
        return NULL;
    profile->waits_for_main = waits_for_main;
    profile->only_thread = all_threads ? 0 : PyThread_get_thread_ident();
    return dw_calls_enable(profile, builtins, waits_for_main) ? NULL : Py_NewRef(Py_None);
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

static int add_track(struct dw_call_graph *graph, const struct dw_call_track *track,
                     const struct dw_call_cost *costs)
{
    struct dw_call_item *items = malloc(track->node_count * sizeof *items);
    if (!items)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < track->node_count; i++) {
        const struct dw_call_node *node = dw_call_track_node(track, i);
        items[i] = (struct dw_call_item){
            .parent = node->parent,
            .function = node->function,
            .count = node->count,
            .total = node->total,
            .self = node->self,
        };
    }
    if (costs)
        dw_call_items_correct(items, track->node_count, costs);
    int error = dw_call_graph_add(graph, items, track->node_count);
    free(items);
    return error;
}

static int build_graph(const struct dw_call_profile *profile, const struct dw_call_cost *costs,
                       struct dw_call_graph *graph)
{
    int error = dw_call_graph_init(graph, profile->function_count);
    for (uint32_t i = 0; i < profile->track_count && !error; i++)
        error = add_track(graph, profile->tracks[i], costs);
    return error;
}

/* The cost of measuring, by function, in ticks, from those of a Python and of a C call in
 * nanoseconds. */
static struct dw_call_cost *costs_by_function(const struct dw_call_profile *profile,
                                              const struct dw_call_cost kinds[2])
{
    double tick_ns = dw_calls_tick_ns(profile);
    struct dw_call_cost *costs = malloc((profile->function_count + 1u) * sizeof *costs);
    for (uint32_t i = 0; costs && i < profile->function_count; i++) {
        const struct dw_call_cost *kind = &kinds[profile->functions[i].code ? 0 : 1];
        costs[i] = (struct dw_call_cost){kind->inside / tick_ns, kind->outside / tick_ns};
    }
    return costs;
}

/* (code or None, name, calls, recursive calls, total, self), and `more`, whose reference is
 * taken. */
static PyObject *entry(const struct dw_call_profile *profile, uint32_t function,
                       const struct dw_call_sums *sums, double tick_seconds, PyObject *more)
{
    const struct dw_call_function *called = &profile->functions[function];
    if (!more)
        return NULL;
    return Py_BuildValue(
        "(OOKKddN)", called->code ? called->code : Py_None, called->name,
        (unsigned long long)sums->count, (unsigned long long)(sums->count - sums->primitive),
        (double)sums->total * tick_seconds, (double)sums->self * tick_seconds, more);
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
    double tick_seconds = dw_calls_tick_ns(profile) * 1e-9;
    PyObject *list = PyList_New(0);
    int error = list ? 0 : -1;
    for (uint32_t i = 0; i < graph->function_count && !error; i++)
        error = append(list, entry(profile, i, &graph->functions[i], tick_seconds, PyList_New(0)));
    for (uint32_t i = 0; i < graph->edge_count && !error; i++) {
        const struct dw_call_edge *edge = &graph->edges[i];
        PyObject *callees = PyTuple_GET_ITEM(PyList_GET_ITEM(list, edge->caller), 6);
        error = append(callees,
                       entry(profile, edge->callee, &edge->sums, tick_seconds, Py_NewRef(Py_None)));
    }
    if (error)
        Py_CLEAR(list);
    return list;
}

/* entries(): as measured; given the cost of measuring a Python call (nanoseconds inside and outside
 * of it) and a C call, with that cost taken out. */
static PyObject *profiler_entries(PyObject *self, PyObject *arguments)
{
    struct dw_call_cost kinds[2] = {0};
    struct dw_call_graph graph = {0};
    const struct dw_call_profile *profile = profile_of(self);
    if (!PyArg_ParseTuple(arguments, "|dddd", &kinds[0].inside, &kinds[0].outside, &kinds[1].inside,
                          &kinds[1].outside))
        return NULL;
    struct dw_call_cost *costs =
        PyTuple_GET_SIZE(arguments) ? costs_by_function(profile, kinds) : NULL;
    PyObject *list =
        build_graph(profile, costs, &graph) ? PyErr_NoMemory() : entries(profile, &graph);
    free(costs);
    dw_call_graph_release(&graph);
    return list;
}

/* log(): the profile as the bytes of a log, for the lenses. */
static PyObject *profiler_log(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct dw_call_log log = {.profile = profile_of(self)};
    dw_probe_add(&dw_call_probe);
    int error = dw_ledger_open(&(struct dw_ledger_options){0}, &log.ledger);
    if (!error) {
        if (log.profile->began.tick)
            log.ledger->process.first_clock = log.profile->began;
        log.ledger->ended = log.profile->ended;
        error = dw_ledger_flush_end(log.ledger, dw_calls_collect, &log);
    }
    dw_call_log_release(&log);
    return dw_ledger_take_bytes(log.ledger, error);
}

/* record(file): from now on the profile goes to a log too, while the program runs. */
static PyObject *profiler_record(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    int error = dw_call_log_start(profile_of(self), PyBytes_AS_STRING(path));
    if (error)
        dw_raise_error(error, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    return error ? NULL : Py_NewRef(Py_None);
}

/* By function: the ticks that its generators slept; NULL with an exception. */
static uint64_t *suspended_ticks(const struct dw_call_profile *profile)
{
    uint64_t *ticks = calloc(profile->function_count + 1u, sizeof *ticks);
    for (uint32_t i = 0; ticks && i < profile->track_count; i++)
        for (uint32_t node = 1; node < profile->tracks[i]->node_count; node++)
            ticks[dw_call_track_node(profile->tracks[i], node)->function] +=
                dw_call_track_suspended(profile->tracks[i], node);
    if (!ticks)
        PyErr_NoMemory();
    return ticks;
}

/* suspensions(): (code or None, name, resumptions, seconds asleep) of every function. */
static PyObject *profiler_suspensions(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_call_profile *profile = profile_of(self);
    double tick_seconds = dw_calls_tick_ns(profile) * 1e-9;
    uint64_t *suspended = suspended_ticks(profile);
    PyObject *list = suspended ? PyList_New(0) : NULL;
    for (uint32_t i = 0; list && i < profile->function_count; i++) {
        const struct dw_call_function *function = &profile->functions[i];
        if (append(list, Py_BuildValue("(OOKd)", function->code ? function->code : Py_None,
                                       function->name, (unsigned long long)function->resumes,
                                       (double)suspended[i] * tick_seconds)))
            Py_CLEAR(list);
    }
    free(suspended);
    return list;
}

/* describe(type, function): the function gives the text for arguments of exactly this type. */
static PyObject *profiler_describe(PyObject *unused, PyObject *arguments)
{
    PyObject *type, *function;
    (void)unused;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyType_Type, &type, &function))
        return NULL;
    if (dw_type_describe((PyTypeObject *)type, function == Py_None ? NULL : function))
        return NULL;
    Py_RETURN_NONE;
}

static void profiler_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    dw_calls_disable(profile_of(self));
    dw_call_log_stop(profile_of(self));
    dw_calls_clear(profile_of(self));
    Py_CLEAR(profile_of(self)->timer);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_enable", profiler_enable, METH_VARARGS, NULL},
    {"disable", profiler_disable, METH_NOARGS, PyDoc_STR("Stops collecting calls.")},
    {"clear", profiler_clear, METH_NOARGS, PyDoc_STR("Forgets what was collected so far.")},
    {"_record", profiler_record, METH_VARARGS, NULL},
    {"_suspensions", profiler_suspensions, METH_NOARGS, NULL},
    {"_describe", profiler_describe, METH_VARARGS | METH_STATIC, NULL},
    {"_log", profiler_log, METH_NOARGS, NULL},
    {"_entries", profiler_entries, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, profiler_init},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "dwell.CallTracer",
    .basicsize = sizeof(struct call_profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int dw_call_profiler_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "CallTracer", type) : -1;
    Py_XDECREF(type);
    return error;
}
