/* SPDX-License-Identifier: MIT
 * A list has a table of pointers. A dictionary has a table of indexes, whose length is a power of
 * two, and entries for two thirds of it: of two words when all keys are strings, else of three. A
 * dictionary whose size is none of such a table shares its keys with others: it is left out. */
#include "probe/heap/heap_spare.h"

#include "probe/heap/heap_snapshot.h"

#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 56 /* of an empty one, as sys.getsizeof counts */
#define DICT_BYTES 64
#define KEYS_BYTES 32 /* before the table of indexes */
#define LOG2_MIN 3
#define LOG2_MAX 40

enum { LIST, DICT, KINDS };

struct spare {
    dw_heap_node node;
    uint64_t bytes;
};

struct found {
    struct dw_heap_type_sums sums[KINDS]; /* what is retained is what they have to spare */
    struct spare *best;
    unsigned count, limit;
};

static uint64_t spare_of_list(uint64_t size, uint64_t used)
{
    uint64_t room = size > LIST_BYTES ? (size - LIST_BYTES) / sizeof(void *) : 0;
    return room > used ? (room - used) * sizeof(void *) : 0;
}

/* How many entries of so many bytes a table of that size has, or 0. */
static uint64_t entries_in(uint64_t bytes, uint64_t entry)
{
    for (unsigned log2 = LOG2_MIN; log2 < LOG2_MAX && (UINT64_C(1) << log2) <= bytes; log2++) {
        uint64_t slots = UINT64_C(1) << log2, entries = slots * 2 / 3;
        uint64_t width = log2 < 8 ? 1 : log2 < 16 ? 2 : log2 < 32 ? 4 : 8;
        if (slots * width + entries * entry == bytes)
            return entries;
    }
    return 0;
}

static uint64_t spare_of_dict(uint64_t size, uint64_t used)
{
    uint64_t bytes = size > DICT_BYTES + KEYS_BYTES ? size - DICT_BYTES - KEYS_BYTES : 0;
    for (uint64_t words = 2; words <= 3; words++) {
        uint64_t entries = entries_in(bytes, words * sizeof(void *));
        if (entries)
            return entries > used ? (entries - used) * words * sizeof(void *) : 0;
    }
    return 0;
}

static void keep_best(struct found *found, struct spare spare)
{
    unsigned at = found->count;
    if (at == found->limit && (!at || found->best[at - 1].bytes >= spare.bytes))
        return;
    at = at < found->limit ? found->count++ : at - 1;
    for (; at && found->best[at - 1].bytes < spare.bytes; at--)
        found->best[at] = found->best[at - 1];
    found->best[at] = spare;
}

static void look_at(struct found *found, const struct dw_heap_graph *graph, dw_heap_node node,
                    int kind)
{
    uint64_t references = graph->first[node + 1] - graph->first[node];
    uint64_t size = graph->sizes[node], bytes = kind == LIST ? spare_of_list(size, references)
                                                             : spare_of_dict(size, references / 2);
    if (!bytes)
        return;
    found->sums[kind].count++;
    found->sums[kind].size += size;
    found->sums[kind].retained += bytes;
    keep_best(found, (struct spare){node, bytes});
}

static bool is_builtin(const struct dw_heap *heap, uint32_t type, const char *name)
{
    const struct dw_string *strings = heap->names.strings;
    return !strcmp(strings[heap->types[type].module].bytes, "builtins") &&
           !strcmp(strings[heap->types[type].name].bytes, name);
}

static void look_at_all(struct found *found, const struct dw_heap *heap)
{
    uint32_t list = 0, dict = 0;
    for (uint32_t i = 1; i < heap->graph.type_count; i++) {
        list = is_builtin(heap, i, "list") ? i : list;
        dict = is_builtin(heap, i, "dict") ? i : dict;
    }
    for (dw_heap_node i = heap->frame_count + 1; i < heap->graph.count; i++) {
        uint32_t type = heap->graph.types[i];
        if (type && (type == list || type == dict))
            look_at(found, &heap->graph, i, type == list ? LIST : DICT);
    }
}

static PyObject *best_of(const struct found *found)
{
    PyObject *pairs = PyList_New(found->count);
    for (unsigned i = 0; pairs && i < found->count; i++) {
        PyObject *pair =
            Py_BuildValue("IK", found->best[i].node, (unsigned long long)found->best[i].bytes);
        if (pair)
            PyList_SET_ITEM(pairs, i, pair);
        else
            Py_CLEAR(pairs);
    }
    return pairs;
}

static PyObject *sum_of(const struct dw_heap_type_sums *sum)
{
    return Py_BuildValue("KKK", (unsigned long long)sum->count, (unsigned long long)sum->size,
                         (unsigned long long)sum->retained);
}

PyObject *dw_heap_query_spare(PyObject *self, PyObject *arguments)
{
    struct found found = {.limit = 0};
    if (!PyArg_ParseTuple(arguments, "I", &found.limit))
        return NULL;
    found.best = malloc(((size_t)found.limit + 1) * sizeof *found.best);
    if (!found.best)
        return PyErr_NoMemory();
    look_at_all(&found, &((const struct dw_heap_snapshot *)self)->heap);
    PyObject *answer =
        Py_BuildValue("NNN", sum_of(&found.sums[LIST]), sum_of(&found.sums[DICT]), best_of(&found));
    free(found.best);
    return answer;
}
