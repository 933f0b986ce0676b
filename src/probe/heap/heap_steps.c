/* SPDX-License-Identifier: MIT
 * Objects that the garbage collector tracks at an address of the picture, and that have the type of
 * the picture, are asked how they hold what comes after them on ways. Containers that are not
 * tracked are asked when one that was asked holds them. */
#include "probe/heap/heap_steps.h"

#include "base/address_map.h"
#include "base/grow.h"
#include "cpython/heap/heap_objects.h"
#include "cpython/heap/heap_references.h"
#include "probe/heap/heap_names.h"

#include <stdio.h>

struct naming {
    struct dw_heap *heap;
    const dw_heap_node *parents;
    struct dw_address_map numbers;  /* of nodes, by address */
    struct dw_address_map name_ids; /* of names, by address; plus 1 */
    dw_heap_node *queue;            /* whose objects live, and are asked in turn */
    uint32_t queued, capacity;
    bool *is_queued;
    dw_heap_node holder;
    int error;
};

static int number_nodes(struct naming *naming)
{
    const struct dw_heap *heap = naming->heap;
    for (dw_heap_node i = heap->frame_count + 1; i < heap->graph.count; i++) {
        uint32_t *number = dw_address_map_at(&naming->numbers, heap->addresses[i]);
        if (!number)
            return DW_ERR_MEMORY;
        *number = i;
    }
    return 0;
}

/* The node of an object that lives, or 0. */
static dw_heap_node node_of(const struct naming *naming, PyObject *object)
{
    const struct dw_heap *heap = naming->heap;
    dw_heap_node node = dw_address_map_find(&naming->numbers, (uintptr_t)object);
    uintptr_t type = (uintptr_t)Py_TYPE(object);
    return node && heap->types[heap->graph.types[node]].address == type ? node : 0;
}

static bool queue(PyObject *object, void *argument)
{
    struct naming *naming = argument;
    dw_heap_node node = node_of(naming, object);
    if (!node || naming->is_queued[node])
        return true;
    if (DW_GROW(naming->queue, naming->queued, naming->capacity)) {
        naming->error = DW_ERR_MEMORY;
        return false;
    }
    naming->queue[naming->queued++] = node;
    return naming->is_queued[node] = true;
}

/* A name that comes often is the same object each time. */
static dw_string_id name_of(struct naming *naming, PyObject *text)
{
    uint32_t *known = dw_address_map_at(&naming->name_ids, (uintptr_t)text);
    dw_string_id id = 0;
    if (!known) {
        naming->error = DW_ERR_MEMORY;
        return 0;
    }
    if (*known)
        return *known - 1;
    int error = dw_heap_name(&naming->heap->names, text, &id);
    naming->error = naming->error ? naming->error : error;
    *known = id + 1;
    return id;
}

static dw_string_id word(struct naming *naming, const char *text)
{
    dw_string_id id = 0;
    int error = dw_string_intern(&naming->heap->names, text, strlen(text), &id);
    naming->error = naming->error ? naming->error : error;
    return id;
}

static void set(struct naming *naming, dw_heap_node node, enum dw_heap_step_kind kind,
                uint32_t value)
{
    naming->heap->step_kinds[node] = (uint8_t)kind;
    naming->heap->step_values[node] = value;
}

/* Of keys only those that are identifiers are told. */
static void set_key(struct naming *naming, dw_heap_node node, PyObject *key)
{
    if (PyUnicode_CheckExact(key) && PyUnicode_IsIdentifier(key))
        set(naming, node, DW_HEAP_STEP_KEY, name_of(naming, key));
    else
        set(naming, node, DW_HEAP_STEP_SOME_KEY, word(naming, Py_TYPE(key)->tp_name));
}

static void set_reference(struct naming *naming, dw_heap_node node,
                          const struct dw_py_reference *how)
{
    switch (how->kind) {
    case DW_PY_REFERENCE_KEY: set_key(naming, node, how->name); break;
    case DW_PY_REFERENCE_AS_KEY: set(naming, node, DW_HEAP_STEP_AS_KEY, 0); break;
    case DW_PY_REFERENCE_ELEMENT: set(naming, node, DW_HEAP_STEP_ELEMENT, 0); break;
    case DW_PY_REFERENCE_INDEX: set(naming, node, DW_HEAP_STEP_INDEX, (uint32_t)how->index); break;
    case DW_PY_REFERENCE_ATTRIBUTE:
        set(naming, node, DW_HEAP_STEP_ATTRIBUTE,
            how->attribute ? word(naming, how->attribute) : name_of(naming, how->name));
        break;
    }
}

static void name_reference(PyObject *held, const struct dw_py_reference *how, void *argument)
{
    struct naming *naming = argument;
    dw_heap_node node = node_of(naming, held);
    if (!node || naming->parents[node] != naming->holder || naming->heap->step_kinds[node])
        return;
    set_reference(naming, node, how);
    if (PyDict_CheckExact(held) || PyTuple_CheckExact(held))
        queue(held, naming);
}

/* What the picture alone can tell of references that have no name of their own. */
static void name_rest(struct naming *naming, PyObject *holder)
{
    struct dw_heap *heap = naming->heap;
    for (uint32_t i = heap->graph.first[naming->holder]; i < heap->graph.first[naming->holder + 1];
         i++) {
        dw_heap_node node = heap->graph.targets[i];
        struct dw_py_reference how;
        if (naming->parents[node] != naming->holder || heap->step_kinds[node])
            continue;
        if (dw_py_reference_by_type(holder, heap->addresses[node],
                                    heap->types[heap->graph.types[node]].address, &how))
            set_reference(naming, node, &how);
    }
}

static void add_note(struct naming *naming, PyObject *held, const char *what, PyObject *variable)
{
    struct dw_heap *heap = naming->heap;
    dw_heap_node node = held ? node_of(naming, held) : 0;
    char text[256];
    if (!node || naming->parents[node] != naming->holder)
        return;
    dw_string_id name = name_of(naming, variable);
    if (DW_GROW(heap->notes, heap->note_count, heap->note_capacity)) {
        naming->error = DW_ERR_MEMORY;
        return;
    }
    snprintf(text, sizeof text, "%s%s", what, heap->names.strings[name].bytes);
    heap->notes[heap->note_count++] = (struct dw_heap_note){node, word(naming, text)};
}

/* Which variables of a function its defaults and its closure are. */
static void note_variables(struct naming *naming, PyObject *tuple)
{
    const struct dw_heap *heap = naming->heap;
    dw_heap_node above = naming->parents[naming->holder];
    if (!above || above == DW_HEAP_NONE || !naming->is_queued[above] ||
        heap->types[heap->graph.types[above]].address != (uintptr_t)&PyFunction_Type)
        return;
    PyObject *function = (PyObject *)heap->addresses[above];
    PyCodeObject *code = (PyCodeObject *)PyFunction_GetCode(function);
    bool is_defaults = tuple == PyFunction_GetDefaults(function);
    if (!is_defaults && tuple != PyFunction_GetClosure(function))
        return;
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    PyObject *names = code->co_localsplusnames;
    Py_ssize_t first =
        is_defaults ? code->co_argcount - count : PyTuple_GET_SIZE(names) - code->co_nfreevars;
    for (Py_ssize_t i = 0; i < count && first >= 0 && first + i < PyTuple_GET_SIZE(names); i++)
        add_note(naming, PyTuple_GET_ITEM(tuple, i), is_defaults ? "default of " : "variable ",
                 PyTuple_GET_ITEM(names, first + i));
}

static void ask(struct naming *naming, dw_heap_node node)
{
    PyObject *holder = (PyObject *)naming->heap->addresses[node];
    naming->holder = node;
    dw_py_references(holder, name_reference, naming);
    if (PyTuple_CheckExact(holder))
        note_variables(naming, holder);
    name_rest(naming, holder);
}

/* The names by which sys.modules has them; of several the first. */
static void name_modules(struct naming *naming)
{
    PyObject *name, *module;
    Py_ssize_t at = 0;
    while (PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module)) {
        dw_heap_node node = node_of(naming, module);
        if (!node || !PyModule_Check(module))
            continue;
        if (!naming->parents[node] && !naming->heap->step_kinds[node])
            set(naming, node, DW_HEAP_STEP_KEY, name_of(naming, name));
        queue(module, naming);
    }
}

static void name_variables(struct naming *naming)
{
    struct dw_heap *heap = naming->heap;
    for (dw_heap_node frame = 1; frame <= heap->frame_count; frame++)
        for (uint32_t i = heap->graph.first[frame]; i < heap->graph.first[frame + 1]; i++) {
            dw_heap_node node = heap->graph.targets[i];
            if (naming->parents[node] == frame && heap->variables[i])
                set(naming, node, DW_HEAP_STEP_VARIABLE, heap->variables[i]);
        }
}

static int compare_notes(const void *a, const void *b)
{
    dw_heap_node x = ((const struct dw_heap_note *)a)->node;
    dw_heap_node y = ((const struct dw_heap_note *)b)->node;
    return (x > y) - (x < y);
}

/* In the order of nodes, one each. */
static void sort_notes(struct dw_heap *heap)
{
    uint32_t kept = 0;
    if (heap->note_count)
        qsort(heap->notes, heap->note_count, sizeof *heap->notes, compare_notes);
    for (uint32_t i = 0; i < heap->note_count; i++)
        if (!kept || heap->notes[i].node != heap->notes[kept - 1].node)
            heap->notes[kept++] = heap->notes[i];
    heap->note_count = kept;
}

static int name_all(struct naming *naming)
{
    name_variables(naming);
    name_modules(naming);
    if (!naming->error && dw_py_heap_objects(queue, naming))
        return 1;
    for (uint32_t i = 0; i < naming->queued && !naming->error; i++)
        ask(naming, naming->queue[i]);
    sort_notes(naming->heap);
    return naming->error;
}

int dw_heap_name_steps(struct dw_heap *heap, const dw_heap_node *parents)
{
    struct naming naming = {.heap = heap, .parents = parents};
    uint8_t *kinds = calloc(heap->graph.count, sizeof *kinds);
    uint32_t *values = calloc(heap->graph.count, sizeof *values);
    naming.is_queued = calloc(heap->graph.count, sizeof *naming.is_queued);
    free(heap->step_kinds), free(heap->step_values);
    heap->step_kinds = kinds;
    heap->step_values = values;
    heap->note_count = 0;
    int error = kinds && values && naming.is_queued ? number_nodes(&naming) : DW_ERR_MEMORY;
    if (!error)
        error = name_all(&naming);
    dw_address_map_release(&naming.numbers);
    dw_address_map_release(&naming.name_ids);
    free(naming.is_queued);
    free(naming.queue);
    return error;
}
