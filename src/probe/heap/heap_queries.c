/* SPDX-License-Identifier: MIT
 * Types are asked for by name: there may be several of one name. */
#include "probe/heap/heap_queries.h"

#include "base/error.h"
#include "model/heap/heap_way_text.h"
#include "probe/heap/heap_names.h"
#include "probe/heap/heap_snapshot.h"

#include <stdlib.h>
#include <string.h>

/* leave_out(node): counts(), sites() and some_of() are without garbage from now on, and without
 * what only the node holds; node 0: without garbage. */
PyObject *dw_heap_query_leave_out(PyObject *self, PyObject *number)
{
    struct dw_heap_snapshot *snapshot = (struct dw_heap_snapshot *)self;
    dw_heap_node node;
    if (!dw_heap_snapshot_node(self, number, &node) || dw_heap_snapshot_dominate(self))
        return NULL;
    if (dw_heap_graph_leave_out(&snapshot->heap.graph, node))
        return PyErr_NoMemory();
    snapshot->leaves_out = true;
    Py_RETURN_NONE;
}

static bool is_counted(PyObject *self, dw_heap_node node)
{
    const struct dw_heap_snapshot *snapshot = (const struct dw_heap_snapshot *)self;
    return !snapshot->leaves_out || !snapshot->heap.graph.is_garbage[node];
}

/* counts(): of each type: module, name, how many, their bytes. Nothing is worked out for it. */
PyObject *dw_heap_query_counts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const struct dw_heap_graph *graph = &heap->graph;
    struct dw_heap_type_sums *sums = calloc((size_t)graph->type_count + 1, sizeof *sums);
    PyObject *rows = sums ? PyList_New(0) : PyErr_NoMemory();
    for (dw_heap_node i = heap->frame_count + 1; rows && i < graph->count; i++) {
        sums[graph->types[i]].count += is_counted(self, i);
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

/* Whether line and function of a site are these; without a line, any is. */
static bool is_made_at(const struct dw_heap *heap, dw_heap_node node, const char *function,
                       const char *file, unsigned line)
{
    if (!line)
        return true;
    if (!heap->node_sites || !heap->node_sites[node])
        return false;
    const struct dw_heap_site *site = &heap->sites[heap->node_sites[node]];
    return site->line == line && !strcmp(heap->names.strings[site->function].bytes, function) &&
           !strcmp(heap->names.strings[site->file].bytes, file);
}

/* some_of(type, limit, function="", file="", line=0): nodes of a type, from all over the heap; with
 * a line, of those that were made there. */
PyObject *dw_heap_query_some_of(PyObject *self, PyObject *arguments)
{
    const struct dw_heap *heap = &((const struct dw_heap_snapshot *)self)->heap;
    const char *name, *function = "", *file = "";
    unsigned limit, line = 0, count = 0, total = 0;
    if (!PyArg_ParseTuple(arguments, "sI|ssI", &name, &limit, &function, &file, &line))
        return NULL;
    bool *is_type = calloc((size_t)heap->graph.type_count + 1, sizeof *is_type);
    dw_heap_node *all = malloc(heap->graph.count * sizeof *all), *some = all;
    for (uint32_t i = 1; is_type && i < heap->graph.type_count; i++)
        is_type[i] = is_named(heap, i, name);
    for (dw_heap_node i = 1; is_type && all && i < heap->graph.count; i++)
        if (is_type[heap->graph.types[i]] && is_counted(self, i) &&
            is_made_at(heap, i, function, file, line))
            all[total++] = i;
    for (unsigned every = limit && total > limit ? total / limit : 1;
         is_type && some && count < limit && count * every < total; count++)
        some[count] = all[count * every];
    PyObject *list = is_type && some ? dw_heap_node_list(some, count) : PyErr_NoMemory();
    free(is_type);
    free(all);
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
        if (is_wanted[heap->graph.types[i]] && is_counted(self, i)) {
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
