/* SPDX-License-Identifier: MIT
 * Equal ones are neighbours once they are sorted by type, size and hash. */
#define _GNU_SOURCE
#include "probe/heap/heap_duplicates.h"

#include "base/map.h"
#include "cpython/heap/heap_buffers.h"

#include <stdlib.h>
#include <string.h>

bool dw_heap_text_hash(PyObject *object, uint64_t *hash)
{
    if (PyByteArray_CheckExact(object))
        *hash = dw_hash_bytes(PyByteArray_AS_STRING(object), (size_t)PyByteArray_GET_SIZE(object));
    else if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object))
        *hash = (uint64_t)PyObject_Hash(object);
    else
        return false;
    return true;
}

static bool mix(PyObject *array, const char *name, uint64_t *hash)
{
    PyObject *value = PyObject_GetAttrString(array, name);
    Py_hash_t own = value ? PyObject_Hash(value) : -1;
    Py_XDECREF(value);
    *hash = *hash * 31 + (uint64_t)own;
    return own != -1;
}

bool dw_heap_array_hash(PyObject *array, const PyGetSetDef *base, uint64_t *hash)
{
    bool is_plain = !strcmp(Py_TYPE(array)->tp_name, "numpy.ndarray");
    uintptr_t data = is_plain ? dw_py_array_data(array, base) : 0;
    PyObject *bytes = data ? PyObject_GetAttrString(array, "nbytes") : NULL;
    size_t size = bytes ? PyLong_AsSize_t(bytes) : 0;
    Py_XDECREF(bytes);
    bool is_known = size && !PyErr_Occurred();
    if (is_known)
        *hash = dw_hash_bytes((const void *)data, size);
    is_known = is_known && mix(array, "dtype", hash) && mix(array, "shape", hash);
    PyErr_Clear();
    return is_known;
}

static int compare(const void *a, const void *b, void *argument)
{
    const struct dw_heap_hash *x = a, *y = b;
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
    struct dw_heap_hash *sorted = malloc(((size_t)heap->hash_count + 1) * sizeof *sorted);
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
