/* SPDX-License-Identifier: MIT
 * Equal ones are neighbours once they are sorted by type, size and hash. */
#define _GNU_SOURCE
#include "probe/heap/heap_duplicates.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b, void *argument)
{
    const struct dw_heap_text_hash *x = a, *y = b;
    const struct dw_heap_graph *graph = argument;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    uint64_t size = graph->sizes[x->node], other = graph->sizes[y->node];
    if (size != other)
        return size < other ? -1 : 1;
    uint32_t type = graph->types[x->node], other_type = graph->types[y->node];
    return (type > other_type) - (type < other_type);
}

static int put(PyObject *rows, dw_heap_node node, uint32_t count, uint64_t wasted)
{
    PyObject *row = Py_BuildValue("IIK", node, count, (unsigned long long)wasted);
    int error = row ? PyList_Append(rows, row) : -1;
    Py_XDECREF(row);
    return error;
}

int dw_heap_put_duplicates(const struct dw_heap *heap, PyObject *rows)
{
    const struct dw_heap_graph *graph = &heap->graph;
    struct dw_heap_text_hash *sorted = malloc(((size_t)heap->hash_count + 1) * sizeof *sorted);
    int error = 0;
    if (!sorted)
        return PyErr_NoMemory(), -1;
    if (heap->hash_count)
        memcpy(sorted, heap->hashes, heap->hash_count * sizeof *sorted);
    qsort_r(sorted, heap->hash_count, sizeof *sorted, compare, (void *)(uintptr_t)graph);
    for (uint32_t i = 0, next; !error && i < heap->hash_count; i = next) {
        for (next = i + 1; next < heap->hash_count; next++)
            if (compare(&sorted[i], &sorted[next], (void *)(uintptr_t)graph))
                break;
        if (next - i > 1)
            error =
                put(rows, sorted[i].node, next - i, (next - i - 1) * graph->sizes[sorted[i].node]);
    }
    free(sorted);
    return error;
}
