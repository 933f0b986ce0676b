/* SPDX-License-Identifier: MIT
 * Types are asked for by name: there may be several of one name. */
#include "probe/heap/heap_queries.h"

#include "base/error.h"
#include "model/heap/heap_way_text.h"
#include "probe/heap/heap_names.h"
#include "probe/heap/heap_snapshot.h"

#include <stdlib.h>
#include <string.h>

/* counts(): of each type: module, name, how many, their bytes. Nothing is worked out for it. */
PyObject *dw_heap_query_counts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const struct dw_heap_graph *graph = &heap->graph;
    struct dw_heap_type_sums *sums = calloc((size_t)graph->type_count + 1, sizeof *sums);
    PyObject *rows = sums ? PyList_New(0) : PyErr_NoMemory();
    for (dw_heap_node i = heap->frame_count + 1; rows && i < graph->count; i++) {
        sums[graph->types[i]].count++;
        sums[graph->types[i]].size += graph->sizes[i];
    }
    for (uint32_t i = 1; rows && i < graph->type_count; i++) {
        PyObject *row =
            Py_BuildValue("NNKK", dw_heap_text(&heap->names, heap->types[i].module),
                          dw_heap_text(&heap->names, heap->types[i].name),
                          (unsigned long long)sums[i].count, (unsigned long long)sums[i].size);
        if (!row || PyList_Append(rows, row))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    free(sums);
    return rows;
}

static bool is_named(const struct dw_heap *heap, uint32_t type, const char *name)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_heap_put_type(&out, heap, type);
    dw_out_char(&out, 0);
    const char *full = (const char *)out.buffer.data;
    const char *dot = full ? strrchr(full, '.') : NULL;
    bool is_same = full && (!strcmp(full, name) || (dot && !strcmp(dot + 1, name)));
    dw_out_close(&out);
    return is_same;
}

/* largest_of(type, limit): those of a type, by its name with or without the module. */
PyObject *dw_heap_query_largest_of(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const char *name;
    unsigned limit, count = 0;
    if (!PyArg_ParseTuple(arguments, "sI", &name, &limit) || dw_heap_snapshot_dominate(self))
        return NULL;
    bool *is_wanted = calloc((size_t)heap->graph.type_count + 1, sizeof *is_wanted);
    dw_heap_node *best = malloc(((size_t)limit + 1) * sizeof *best);
    for (uint32_t i = 1; is_wanted && i < heap->graph.type_count; i++)
        is_wanted[i] = is_named(heap, i, name);
    if (is_wanted && best)
        count = dw_heap_graph_find_largest_of(&heap->graph, is_wanted, limit, best);
    PyObject *list = is_wanted && best ? dw_heap_node_list(best, count) : PyErr_NoMemory();
    free(is_wanted);
    free(best);
    return list;
}

/* some_of(type, limit): nodes of a type, from all over the heap. */
PyObject *dw_heap_query_some_of(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const char *name;
    unsigned limit, count = 0, total = 0;
    if (!PyArg_ParseTuple(arguments, "sI", &name, &limit))
        return NULL;
    bool *is_wanted = calloc((size_t)heap->graph.type_count + 1, sizeof *is_wanted);
    dw_heap_node *some = malloc(((size_t)limit + 1) * sizeof *some);
    for (uint32_t i = 1; is_wanted && i < heap->graph.type_count; i++)
        is_wanted[i] = is_named(heap, i, name);
    for (dw_heap_node i = 1; is_wanted && i < heap->graph.count; i++)
        total += is_wanted[heap->graph.types[i]];
    unsigned every = limit && total > limit ? total / limit : 1, at = 0;
    for (dw_heap_node i = 1; is_wanted && some && i < heap->graph.count; i++)
        if (is_wanted[heap->graph.types[i]] && at++ % every == 0 && count < limit)
            some[count++] = i;
    PyObject *list = is_wanted && some ? dw_heap_node_list(some, count) : PyErr_NoMemory();
    free(is_wanted);
    free(some);
    return list;
}

/* made(node): function, file and line that allocated it, or None. */
PyObject *dw_heap_query_made(PyObject *self, PyObject *number)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node))
        return NULL;
    if (!heap->node_sites || !heap->node_sites[node])
        Py_RETURN_NONE;
    const struct dw_heap_site *site = &heap->sites[heap->node_sites[node]];
    return Py_BuildValue("NNI", dw_heap_text(&heap->names, site->function),
                         dw_heap_text(&heap->names, site->file), site->line);
}

static PyObject *site_rows(const struct dw_heap *heap, const struct dw_heap_type_sums *sums)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 1; rows && i < heap->site_count; i++) {
        const struct dw_heap_site *site = &heap->sites[i];
        if (!sums[i].count)
            continue;
        PyObject *row =
            Py_BuildValue("NNIKK", dw_heap_text(&heap->names, site->function),
                          dw_heap_text(&heap->names, site->file), site->line,
                          (unsigned long long)sums[i].count, (unsigned long long)sums[i].size);
        if (!row || PyList_Append(rows, row))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* sites(type): of the objects of a type, or with "" of all: function, file and line that made them,
 * how many, and their bytes. */
PyObject *dw_heap_query_sites(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s", &name))
        return NULL;
    bool *is_wanted = calloc((size_t)heap->graph.type_count + 1, sizeof *is_wanted);
    struct dw_heap_type_sums *sums = calloc((size_t)heap->site_count + 1, sizeof *sums);
    for (uint32_t i = 1; is_wanted && i < heap->graph.type_count; i++)
        is_wanted[i] = !*name || is_named(heap, i, name);
    for (dw_heap_node i = 1; is_wanted && sums && heap->node_sites && i < heap->graph.count; i++)
        if (is_wanted[heap->graph.types[i]]) {
            sums[heap->node_sites[i]].count++;
            sums[heap->node_sites[i]].size += heap->graph.sizes[i];
        }
    PyObject *rows = is_wanted && sums ? site_rows(heap, sums) : PyErr_NoMemory();
    free(is_wanted);
    free(sums);
    return rows;
}

/* sizes(): of each power of two: how many objects are smaller, and not smaller than half of it, and
 * their bytes. */
PyObject *dw_heap_query_sizes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    struct dw_heap_type_sums sums[65] = {{0}};
    PyObject *rows = PyList_New(0);
    for (dw_heap_node i = heap->frame_count + 1; i < heap->graph.count; i++) {
        uint64_t size = heap->graph.sizes[i];
        struct dw_heap_type_sums *sum = &sums[size ? 64 - __builtin_clzll(size) : 0];
        sum->count++;
        sum->size += size;
    }
    for (int i = 0; rows && i <= 64; i++) {
        PyObject *row = Py_BuildValue("iKK", i, (unsigned long long)sums[i].count,
                                      (unsigned long long)sums[i].size);
        if (!row || PyList_Append(rows, row))
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* trash(limit): of what is garbage, the nodes that hold the rest of it, the most bytes first. */
PyObject *dw_heap_query_trash(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    unsigned limit, count = 0;
    if (!PyArg_ParseTuple(arguments, "I", &limit) || dw_heap_snapshot_dominate(self))
        return NULL;
    dw_heap_node *best = malloc(((size_t)limit + 1) * sizeof *best);
    if (!best)
        return PyErr_NoMemory();
    count = dw_heap_graph_find_largest_garbage(&heap->graph, limit, best);
    PyObject *list = dw_heap_node_list(best, count);
    free(best);
    return list;
}
