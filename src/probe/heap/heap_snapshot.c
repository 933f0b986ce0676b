/* SPDX-License-Identifier: MIT
 * The graph is plain memory, so what takes long is worked out while other threads run. */
#include "probe/heap/heap_snapshot.h"

#include "base/clock.h"
#include "base/error.h"
#include "cpython/heap/heap_check.h"
#include "cpython/heap/heap_objects.h"
#include "model/heap/heap_way_text.h"
#include "model/heap/heap_ways.h"
#include "probe/heap/heap_alive.h"
#include "probe/heap/heap_duplicates.h"
#include "probe/heap/heap_file.h"
#include "probe/heap/heap_makers.h"
#include "probe/heap/heap_names.h"
#include "probe/heap/heap_queries.h"
#include "probe/heap/heap_spare.h"
#include "probe/heap/heap_steps.h"
#include "probe/render.h"

#include <stdlib.h>
#include <string.h>

static struct dw_heap *heap_of(PyObject *self)
{
    return &((struct dw_heap_snapshot *)self)->heap;
}

static PyTypeObject *snapshot_type;

static PyObject *make(PyTypeObject *type, const struct dw_heap *heap, uint64_t taken_ns)
{
    struct dw_heap_snapshot *self = PyObject_New(struct dw_heap_snapshot, type);
    if (!self)
        return NULL;
    self->heap = *heap;
    self->parents = NULL;
    self->leaves_out = false;
    self->taken_ns = taken_ns;
    return &self->head;
}

static PyObject *snapshot_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"hashes", NULL};
    struct dw_heap heap;
    int with_hashes = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|p", names, &with_hashes))
        return NULL;
    const char *refusal = dw_py_heap_refusal();
    if (refusal) {
        PyErr_SetString(PyExc_RuntimeError, refusal);
        return NULL;
    }
    struct dw_clock_pair now = dw_clock_pair_now();
    int error = dw_heap_walk(&heap, with_hashes);
    if (error)
        return error > 0 ? NULL : dw_raise_error(error, NULL);
    error = dw_heap_find_makers(&heap);
    if (error) {
        dw_heap_release(&heap);
        return dw_raise_error(error, NULL);
    }
    PyObject *self = make(type, &heap, now.monotonic_ns);
    if (!self)
        dw_heap_release(&heap);
    return self;
}

PyObject *dw_heap_snapshot_take(struct dw_heap *heap, uint64_t time_ns)
{
    PyObject *self = make(snapshot_type, heap, time_ns);
    if (self)
        *heap = (struct dw_heap){0};
    return self;
}

static void snapshot_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    dw_heap_release(heap_of(self));
    free(((struct dw_heap_snapshot *)self)->parents);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Two threads may do it at the same time; the first one's result stays. */
int dw_heap_snapshot_dominate(PyObject *self)
{
    struct dw_heap_graph *graph = &heap_of(self)->graph, copy = *graph;
    int error = 0;
    if (graph->dominators)
        return 0;
    Py_BEGIN_ALLOW_THREADS error = dw_heap_graph_dominate(&copy);
    Py_END_ALLOW_THREADS if (!error && !graph->dominators)
    {
        *graph = copy;
        return 0;
    }
    if (!error)
        free(copy.dominators), free(copy.retained), free(copy.is_garbage);
    else
        dw_raise_error(error, NULL);
    return error;
}

static PyObject *snapshot_totals(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = heap_of(self);
    uint64_t size = 0;
    for (dw_heap_node i = 1; i < heap->graph.count; i++)
        size += heap->graph.sizes[i];
    return Py_BuildValue("IIK", heap->graph.count - 1 - heap->frame_count, heap->graph.edge_count,
                         (unsigned long long)size);
}

static PyObject *snapshot_garbage(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap_graph *graph = &heap_of(self)->graph;
    unsigned long long size = 0;
    uint32_t count = 0;
    if (dw_heap_snapshot_dominate(self))
        return NULL;
    for (dw_heap_node i = 1; i < graph->count; i++) {
        count += graph->is_garbage[i];
        size += graph->is_garbage[i] ? graph->sizes[i] : 0;
    }
    return Py_BuildValue("IK", count, size);
}

static PyObject *type_row(const struct dw_heap *heap, uint32_t type,
                          const struct dw_heap_type_sums *sums)
{
    PyObject *module = dw_heap_text(&heap->names, heap->types[type].module);
    PyObject *name = dw_heap_text(&heap->names, heap->types[type].name);
    PyObject *row =
        module && name
            ? Py_BuildValue("OOKKK", module, name, (unsigned long long)sums->count,
                            (unsigned long long)sums->size, (unsigned long long)sums->retained)
            : NULL;
    Py_XDECREF(module);
    Py_XDECREF(name);
    return row;
}

static PyObject *type_rows(const struct dw_heap *heap, const struct dw_heap_type_sums *sums)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 1; rows && i < heap->graph.type_count; i++) {
        PyObject *row = type_row(heap, i, &sums[i]);
        if (!row || PyList_Append(rows, row))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* types(): a row for each: module, name, count, size, retained size. */
static PyObject *snapshot_types(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = heap_of(self);
    struct dw_heap_type_sums *sums = malloc(((size_t)heap->graph.type_count + 1) * sizeof *sums);
    PyObject *rows = NULL;
    int error = sums ? 0 : DW_ERR_MEMORY;
    if (!error && dw_heap_snapshot_dominate(self)) {
        free(sums);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS if (!error) error = dw_heap_graph_sum_types(&heap->graph, sums);
    Py_END_ALLOW_THREADS rows = error ? dw_raise_error(error, NULL) : type_rows(heap, sums);
    free(sums);
    return rows;
}

/* name(): finds the steps of ways while objects are there. */
static PyObject *snapshot_name(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct dw_heap_snapshot *snapshot = (struct dw_heap_snapshot *)self;
    if (dw_heap_snapshot_find_ways(snapshot))
        return NULL;
    int error =
        snapshot->heap.addresses ? dw_heap_name_steps(&snapshot->heap, snapshot->parents) : 0;
    return error > 0 ? NULL : error ? dw_raise_error(error, NULL) : Py_NewRef(Py_None);
}

static PyObject *snapshot_find(PyObject *self, PyObject *address)
{
    void *pointer = PyLong_AsVoidPtr(address);
    if (!pointer && PyErr_Occurred())
        return NULL;
    return PyLong_FromUnsignedLong(dw_heap_find(heap_of(self), (uintptr_t)pointer));
}

bool dw_heap_snapshot_node(PyObject *self, PyObject *number, dw_heap_node *node)
{
    unsigned long value = PyLong_AsUnsignedLong(number);
    if (value == (unsigned long)-1 && PyErr_Occurred())
        return false;
    if (value >= heap_of(self)->graph.count) {
        PyErr_Format(PyExc_IndexError, "the snapshot has no node %lu", value);
        return false;
    }
    *node = (dw_heap_node)value;
    return true;
}

/* node(number): address, module and name of the type, size, retained size, dominator, references
 * from outside (-1: it never dies), whether it is garbage. */
static PyObject *snapshot_node(PyObject *self, PyObject *number)
{
    const struct dw_heap *heap = heap_of(self);
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node) || dw_heap_snapshot_dominate(self))
        return NULL;
    const struct dw_heap_type *type = &heap->types[heap->graph.types[node]];
    uint32_t outside = heap->outside[node];
    return Py_BuildValue(
        "KNNKKIlN", (unsigned long long)(heap->addresses ? heap->addresses[node] : 0),
        dw_heap_text(&heap->names, type->module), dw_heap_text(&heap->names, type->name),
        (unsigned long long)heap->graph.sizes[node], (unsigned long long)heap->graph.retained[node],
        heap->graph.dominators[node], outside == DW_HEAP_IMMORTAL ? -1L : (long)outside,
        PyBool_FromLong(heap->graph.is_garbage[node]));
}

/* frame(node): function, file, line, thread and whether it is dwell's own; None for an object. */
static PyObject *snapshot_frame(PyObject *self, PyObject *number)
{
    const struct dw_heap *heap = heap_of(self);
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node))
        return NULL;
    if (!node || node > heap->frame_count)
        Py_RETURN_NONE;
    const struct dw_heap_frame *frame = &heap->frames[node - 1];
    return Py_BuildValue("NNikN", dw_heap_text(&heap->names, frame->function),
                         dw_heap_text(&heap->names, frame->file), frame->line, frame->thread,
                         PyBool_FromLong(frame->is_own));
}

/* variable(frame, node): the name of the frame's variable that holds it, or None. */
static PyObject *snapshot_variable(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = heap_of(self);
    unsigned frame, node;
    if (!PyArg_ParseTuple(arguments, "II", &frame, &node))
        return NULL;
    if (!frame || frame > heap->frame_count)
        Py_RETURN_NONE;
    for (uint32_t i = heap->graph.first[frame]; i < heap->graph.first[frame + 1]; i++)
        if (heap->graph.targets[i] == node && heap->variables[i])
            return dw_heap_text(&heap->names, heap->variables[i]);
    Py_RETURN_NONE;
}

PyObject *dw_heap_node_list(const dw_heap_node *nodes, uint32_t count)
{
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(nodes[i]);
        if (number)
            PyList_SET_ITEM(list, i, number);
        else
            Py_CLEAR(list);
    }
    return list;
}

int dw_heap_snapshot_find_ways(struct dw_heap_snapshot *self)
{
    dw_heap_node *parents = NULL;
    int error = 0;
    if (self->parents)
        return 0;
    Py_BEGIN_ALLOW_THREADS parents = malloc(self->heap.graph.count * sizeof *parents);
    error = parents ? dw_heap_find_ways(&self->heap, parents) : DW_ERR_MEMORY;
    Py_END_ALLOW_THREADS if (!error && !self->parents)
    {
        self->parents = parents;
        return 0;
    }
    free(parents);
    if (error)
        dw_raise_error(error, NULL);
    return error;
}

static PyObject *way_to(const dw_heap_node *parents, dw_heap_node node)
{
    uint32_t length = 0;
    for (dw_heap_node at = node; at; at = parents[at])
        length++;
    dw_heap_node *way = malloc(((size_t)length + 1) * sizeof *way);
    if (!way)
        return PyErr_NoMemory();
    for (uint32_t i = length; i-- > 0; node = parents[node])
        way[i] = node;
    PyObject *list = dw_heap_node_list(way, length);
    free(way);
    return list;
}

/* path(node): the nodes of a shortest way from a root to it; empty when no root leads there. */
static PyObject *snapshot_path(PyObject *self, PyObject *number)
{
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node) ||
        dw_heap_snapshot_find_ways((struct dw_heap_snapshot *)self))
        return NULL;
    const dw_heap_node *parents = ((struct dw_heap_snapshot *)self)->parents;
    return parents[node] == DW_HEAP_NONE ? PyList_New(0) : way_to(parents, node);
}

/* step(node): how the one before it on its way holds it, as one would write it, and what else is
 * known of that; None when the picture has no steps. */
static PyObject *snapshot_step(PyObject *self, PyObject *number)
{
    const struct dw_heap *heap = heap_of(self);
    struct dw_out out;
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node))
        return NULL;
    if (!heap->step_kinds)
        Py_RETURN_NONE;
    dw_out_init_memory(&out);
    dw_heap_put_step(&out, heap, node);
    PyObject *text = PyUnicode_DecodeUTF8((const char *)out.buffer.data,
                                          (Py_ssize_t)out.buffer.size, "surrogateescape");
    dw_out_close(&out);
    PyObject *note = dw_heap_text(&heap->names, dw_heap_note_of(heap, node));
    return text && note ? Py_BuildValue("NN", text, note) : NULL;
}

/* root(node): what a way that starts there begins with. */
static PyObject *snapshot_root(PyObject *self, PyObject *number)
{
    struct dw_out out;
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node))
        return NULL;
    dw_out_init_memory(&out);
    dw_heap_put_root(&out, heap_of(self), node);
    PyObject *text = PyUnicode_DecodeUTF8((const char *)out.buffer.data,
                                          (Py_ssize_t)out.buffer.size, "surrogateescape");
    dw_out_close(&out);
    return text;
}

/* save(path, reason) */
static PyObject *snapshot_save(PyObject *self, PyObject *arguments)
{
    PyObject *path;
    const char *reason;
    if (!PyArg_ParseTuple(arguments, "O&s", PyUnicode_FSConverter, &path, &reason))
        return NULL;
    PyObject *result =
        dw_heap_save((struct dw_heap_snapshot *)self, PyBytes_AS_STRING(path), reason);
    Py_DECREF(path);
    return result;
}

/* largest(limit): the nodes that retain most. */
static PyObject *snapshot_largest(PyObject *self, PyObject *arguments)
{
    const struct dw_heap_graph *graph = &heap_of(self)->graph;
    unsigned limit, count = 0;
    if (!PyArg_ParseTuple(arguments, "I", &limit) || dw_heap_snapshot_dominate(self))
        return NULL;
    dw_heap_node *best = malloc(((size_t)limit + 1) * sizeof *best);
    int error = best ? dw_heap_graph_find_largest(graph, heap_of(self)->frame_count + 1, limit,
                                                  best, &count)
                     : DW_ERR_MEMORY;
    PyObject *list = error ? dw_raise_error(error, NULL) : dw_heap_node_list(best, count);
    free(best);
    return list;
}

static dw_heap_node *nodes_of(PyObject *self, PyObject *list, uint32_t *count)
{
    *count = (uint32_t)PyList_GET_SIZE(list);
    dw_heap_node *nodes = malloc(((size_t)*count + 1) * sizeof *nodes);
    if (!nodes) {
        PyErr_NoMemory();
        return NULL;
    }
    for (uint32_t i = 0; i < *count; i++)
        if (!dw_heap_snapshot_node(self, PyList_GET_ITEM(list, i), &nodes[i])) {
            free(nodes);
            return NULL;
        }
    return nodes;
}

/* alive(nodes): their objects, None for those that may be gone. */
static PyObject *snapshot_alive(PyObject *self, PyObject *arguments)
{
    PyObject *list;
    uint32_t count;
    if (!PyArg_ParseTuple(arguments, "O!", &PyList_Type, &list))
        return NULL;
    dw_heap_node *nodes = nodes_of(self, list, &count);
    PyObject *objects = nodes ? dw_heap_alive(heap_of(self), nodes, count) : NULL;
    free(nodes);
    return objects;
}

/* referents(node): what it refers to, as often as it does. */
static PyObject *snapshot_referents(PyObject *self, PyObject *number)
{
    const struct dw_heap_graph *graph = &heap_of(self)->graph;
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node))
        return NULL;
    return dw_heap_node_list(graph->targets + graph->first[node],
                             graph->first[node + 1] - graph->first[node]);
}

static int append_pair(PyObject *pairs, dw_heap_node from, dw_heap_node to)
{
    PyObject *pair = Py_BuildValue("II", from, to);
    int error = pair ? PyList_Append(pairs, pair) : -1;
    Py_XDECREF(pair);
    return error;
}

/* referrers(nodes): pairs of what refers to one of them, and which; each pair once or more. */
static PyObject *snapshot_referrers(PyObject *self, PyObject *arguments)
{
    const struct dw_heap_graph *graph = &heap_of(self)->graph;
    PyObject *list;
    uint32_t count;
    if (!PyArg_ParseTuple(arguments, "O!", &PyList_Type, &list))
        return NULL;
    dw_heap_node *nodes = nodes_of(self, list, &count);
    bool *is_wanted = nodes ? calloc(graph->count, sizeof *is_wanted) : NULL;
    PyObject *pairs = is_wanted ? PyList_New(0) : NULL;
    for (uint32_t i = 0; pairs && i < count; i++)
        is_wanted[nodes[i]] = true;
    for (dw_heap_node node = 0; pairs && node < graph->count; node++)
        for (uint32_t i = graph->first[node]; pairs && i < graph->first[node + 1]; i++)
            if (is_wanted[graph->targets[i]] && append_pair(pairs, node, graph->targets[i]))
                Py_CLEAR(pairs);
    free(nodes);
    free(is_wanted);
    return pairs || PyErr_Occurred() ? pairs : PyErr_NoMemory();
}

/* duplicates(): of texts that there are several of: a node, how many, the bytes of all but one. */
static PyObject *snapshot_duplicates(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = heap_of(self);
    PyObject *rows = heap->has_hashes ? PyList_New(0) : Py_NewRef(Py_None);
    if (rows && heap->has_hashes && dw_heap_put_duplicates(heap, rows))
        Py_CLEAR(rows);
    return rows;
}

static PyObject *snapshot_sizeof(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap_graph *graph = &heap_of(self)->graph;
    size_t each = sizeof(uint64_t) * 2 + sizeof(uint32_t) * 3 +
                  (graph->dominators ? sizeof(uint64_t) + sizeof(uint32_t) + sizeof(bool) : 0) +
                  (((struct dw_heap_snapshot *)self)->parents ? sizeof(uint32_t) : 0);
    return PyLong_FromSize_t(sizeof(struct dw_heap_snapshot) + graph->count * each +
                             ((size_t)graph->edge_count + graph->root_count) * sizeof(uint32_t) +
                             heap_of(self)->hash_count * sizeof(struct dw_heap_hash));
}

static PyMethodDef methods[] = {
    {"totals", snapshot_totals, METH_NOARGS, NULL},
    {"garbage", snapshot_garbage, METH_NOARGS, NULL},
    {"types", snapshot_types, METH_NOARGS, NULL},
    {"counts", dw_heap_query_counts, METH_NOARGS, NULL},
    {"leave_out", dw_heap_query_leave_out, METH_O, NULL},
    {"name", snapshot_name, METH_NOARGS, NULL},
    {"some_of", dw_heap_query_some_of, METH_VARARGS, NULL},
    {"made", dw_heap_query_made, METH_O, NULL},
    {"sites", dw_heap_query_sites, METH_VARARGS, NULL},
    {"sizes", dw_heap_query_sizes, METH_NOARGS, NULL},
    {"trash", dw_heap_query_trash, METH_VARARGS, NULL},
    {"spare", dw_heap_query_spare, METH_VARARGS, NULL},
    {"find", snapshot_find, METH_O, NULL},
    {"node", snapshot_node, METH_O, NULL},
    {"frame", snapshot_frame, METH_O, NULL},
    {"variable", snapshot_variable, METH_VARARGS, NULL},
    {"path", snapshot_path, METH_O, NULL},
    {"step", snapshot_step, METH_O, NULL},
    {"root", snapshot_root, METH_O, NULL},
    {"save", snapshot_save, METH_VARARGS, NULL},
    {"largest", snapshot_largest, METH_VARARGS, NULL},
    {"largest_of", dw_heap_query_largest_of, METH_VARARGS, NULL},
    {"duplicates", snapshot_duplicates, METH_NOARGS, NULL},
    {"alive", snapshot_alive, METH_VARARGS, NULL},
    {"referents", snapshot_referents, METH_O, NULL},
    {"referrers", snapshot_referrers, METH_VARARGS, NULL},
    {"__sizeof__", snapshot_sizeof, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_new, snapshot_new},
    {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "dwell._core.HeapSnapshot",
    .basicsize = sizeof(struct dw_heap_snapshot),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int dw_heap_snapshot_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int error = type ? PyModule_AddObjectRef(module, "HeapSnapshot", type) : -1;
    Py_XDECREF(snapshot_type);
    snapshot_type = (PyTypeObject *)type;
    return error;
}
