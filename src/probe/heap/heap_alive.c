/* SPDX-License-Identifier: MIT
 * An address of the picture belongs to an object again when the garbage collector tracks one there,
 * of the same type, or when an object that lives refers to it. */
#include "probe/heap/heap_alive.h"

#include "base/address_map.h"
#include "base/error.h"
#include "cpython/heap/heap_edges.h"
#include "cpython/heap/heap_objects.h"

struct search {
    const struct dw_heap *heap;
    const dw_heap_node *nodes;
    struct dw_address_map wanted; /* indexes into nodes, plus 1 */
    PyObject **found;             /* borrowed: nothing dies before they are held */
};

static bool is_same(const struct search *search, uint32_t index, PyObject *object)
{
    const struct dw_heap *heap = search->heap;
    return heap->types[heap->graph.types[search->nodes[index]]].address ==
           (uintptr_t)Py_TYPE(object);
}

static bool find_tracked(PyObject *object, void *argument)
{
    struct search *search = argument;
    uint32_t number = dw_address_map_find(&search->wanted, (uintptr_t)object);
    if (number && is_same(search, number - 1, object))
        search->found[number - 1] = object;
    return true;
}

struct reference {
    uintptr_t wanted;
    PyObject *found;
};

static int find_reference(PyObject *object, void *argument)
{
    struct reference *reference = argument;
    if ((uintptr_t)object == reference->wanted)
        reference->found = object;
    return reference->found != NULL;
}

static int find_variable(PyObject *object, PyObject *name, void *argument)
{
    (void)name;
    return find_reference(object, argument);
}

static void search_frames(struct reference *reference)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread; thread = PyThreadState_Next(thread))
        for (dw_py_frame *frame = dw_py_thread_frame(thread); frame && !reference->found;
             frame = dw_py_frame_previous(frame))
            dw_py_frame_edges(frame, find_variable, reference);
}

/* Frozen modules are not among the tracked objects of every version. */
static void search_modules(struct reference *reference)
{
    PyObject *name, *module;
    Py_ssize_t at = 0;
    while (PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module))
        if (find_reference(module, reference))
            return;
}

static void visit_edges(PyObject *object, visitproc visit, void *argument)
{
    struct dw_py_edge_kind kind;
    dw_py_edge_kind_of(Py_TYPE(object), &kind);
    dw_py_edges(object, &kind, visit, argument);
}

/* It never dies, is a module, or the one before it refers to it. */
static PyObject *find_by_reference(const struct search *search, uint32_t index)
{
    dw_heap_node node = search->nodes[index];
    struct reference reference = {.wanted = search->heap->addresses[node]};
    if (search->heap->outside[node] == DW_HEAP_IMMORTAL)
        return (PyObject *)reference.wanted;
    if (index && search->found[index - 1])
        visit_edges(search->found[index - 1], find_reference, &reference);
    else if (index && search->nodes[index - 1] <= search->heap->frame_count)
        search_frames(&reference);
    else
        search_modules(&reference);
    return reference.found && is_same(search, index, reference.found) ? reference.found : NULL;
}

/* How many are still missing. */
static uint32_t search_along(struct search *search, uint32_t count)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (search->found[i] || !search->heap->addresses[search->nodes[i]])
            continue;
        search->found[i] = find_by_reference(search, i);
        missing += !search->found[i];
    }
    return missing;
}

static int want(struct search *search, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t address = search->heap->addresses[search->nodes[i]];
        uint32_t *number = address ? dw_address_map_at(&search->wanted, address) : NULL;
        if (address && !number)
            return -1;
        if (number)
            *number = i + 1;
    }
    return 0;
}

/* Most ways start at a module and need no look at all objects. */
static int search_all(struct search *search, uint32_t count)
{
    if (!search_along(search, count))
        return 0;
    if (want(search, count) || dw_py_heap_objects(find_tracked, search))
        return -1;
    search_along(search, count);
    return 0;
}

PyObject *dw_heap_alive(const struct dw_heap *heap, const dw_heap_node *nodes, uint32_t count)
{
    struct search search = {heap, nodes, {0}, NULL};
    PyObject *list = PyList_New(count);
    search.found = PyMem_Calloc((size_t)count + 1, sizeof *search.found);
    int failed = !list || !search.found || (heap->addresses && search_all(&search, count));
    for (uint32_t i = 0; !failed && i < count; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(search.found[i] ? search.found[i] : Py_None));
    dw_address_map_release(&search.wanted);
    PyMem_Free(search.found);
    if (!failed)
        return list;
    Py_XDECREF(list);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static int append(PyObject *object, void *list)
{
    return PyList_Append(list, object);
}

PyObject *dw_heap_py_referents(PyObject *module, PyObject *object)
{
    (void)module;
    PyObject *list = PyList_New(0);
    if (list)
        visit_edges(object, append, list);
    if (list && PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}
