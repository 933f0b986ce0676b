/* SPDX-License-Identifier: MIT
 * Nodes are numbered as they are met: frames, tracked objects, then whatever these lead to. Going
 * over them in that order makes the table of references grow at its end only. */
#include "probe/heap/heap_walk.h"

#include "base/address_map.h"
#include "base/grow.h"
#include "cpython/heap/heap_edges.h"
#include "cpython/heap/heap_interned.h"
#include "cpython/heap/heap_objects.h"
#include "cpython/heap/heap_size.h"
#include "model/heap/heap_roots.h"
#include "probe/heap/heap_duplicates.h"
#include "probe/heap/heap_makers.h"
#include "probe/heap/heap_names.h"
#include "probe/heap/heap_shared.h"

/* What is known of a type while its objects are looked at. */
struct kind {
    struct dw_py_edge_kind edges;
    struct dw_py_sizing sizing;
};

struct walk {
    struct dw_heap *heap;
    struct dw_heap_graph *graph;
    struct dw_address_map numbers, type_numbers;
    struct kind *kinds;
    uint32_t kind_capacity, type_capacity, node_capacity, rest_capacity, edge_capacity;
    dw_heap_node *foreign; /* objects, held, whose size an extension module tells */
    uint32_t foreign_count, foreign_capacity;
    struct dw_heap_shared shared;
    bool has_makers;                      /* allocations are recorded */
    PyObject *interned_string, *interned; /* the table that holds nothing, once it was met */
    uint32_t frames_seen;
    int error;
};

static dw_heap_node add_node(struct walk *walk, uintptr_t address)
{
    struct dw_heap_graph *graph = walk->graph;
    walk->error = DW_GROW(walk->heap->addresses, graph->count, walk->node_capacity);
    if (walk->error)
        return 0;
    walk->heap->addresses[graph->count] = address;
    return graph->count++;
}

static dw_heap_node number_of(struct walk *walk, PyObject *object)
{
    uint32_t *number = dw_address_map_at(&walk->numbers, (uintptr_t)object);
    if (!number)
        walk->error = DW_ERR_MEMORY;
    else if (!*number)
        *number = add_node(walk, (uintptr_t)object);
    return number ? *number : 0;
}

static bool add_object(PyObject *object, void *argument)
{
    struct walk *walk = argument;
    if (!walk->interned && dw_py_is_interned_table(object, walk->interned_string))
        walk->interned = object;
    return number_of(walk, object) != 0;
}

static int add_edge(PyObject *target, void *argument)
{
    struct walk *walk = argument;
    struct dw_heap_graph *graph = walk->graph;
    dw_heap_node number = number_of(walk, target);
    if (!walk->error)
        walk->error = DW_GROW(graph->targets, graph->edge_count, walk->edge_capacity);
    if (!walk->error)
        graph->targets[graph->edge_count++] = number;
    return walk->error;
}

static int add_variable(PyObject *value, PyObject *name, void *argument)
{
    struct walk *walk = argument;
    struct dw_heap *heap = walk->heap;
    walk->error = DW_GROW(heap->variables, heap->variable_count, heap->variable_capacity);
    if (!walk->error)
        walk->error = dw_heap_name(&heap->names, name, &heap->variables[heap->variable_count]);
    heap->variable_count += !walk->error;
    return walk->error ? walk->error : add_edge(value, walk);
}

/* Makes room for all that a node has beside its address. */
static void make_room(struct walk *walk, dw_heap_node node)
{
    struct dw_heap_graph *graph = walk->graph;
    uint32_t *const capacity = &walk->rest_capacity, wanted = walk->node_capacity;
    if (walk->error || node + 1 < *capacity)
        return;
    void *first = realloc(graph->first, ((size_t)wanted + 1) * sizeof *graph->first);
    graph->first = first ? first : graph->first;
    void *types = realloc(graph->types, wanted * sizeof *graph->types);
    graph->types = types ? types : graph->types;
    void *sizes = realloc(graph->sizes, wanted * sizeof *graph->sizes);
    graph->sizes = sizes ? sizes : graph->sizes;
    void *outside = realloc(walk->heap->outside, wanted * sizeof *walk->heap->outside);
    walk->heap->outside = outside ? outside : walk->heap->outside;
    walk->error = first && types && sizes && outside ? 0 : DW_ERR_MEMORY;
    *capacity = wanted;
}

static void add_kind(struct walk *walk, PyTypeObject *type)
{
    struct dw_heap_graph *graph = walk->graph;
    walk->error = DW_GROW(walk->heap->types, graph->type_count, walk->type_capacity);
    if (!walk->error)
        walk->error = DW_GROW(walk->kinds, graph->type_count, walk->kind_capacity);
    if (walk->error)
        return;
    struct dw_heap_type *named = &walk->heap->types[graph->type_count];
    *named = (struct dw_heap_type){.address = (uintptr_t)type};
    if (type) {
        struct kind *kind = &walk->kinds[graph->type_count];
        dw_py_edge_kind_of(type, &kind->edges);
        dw_py_sizing_of(type, &kind->sizing);
        walk->error = dw_heap_type_name(&walk->heap->names, type, &named->module, &named->name);
    }
    graph->type_count++;
}

static uint32_t type_of(struct walk *walk, PyTypeObject *type)
{
    uint32_t *number = dw_address_map_at(&walk->type_numbers, (uintptr_t)type);
    if (!number) {
        walk->error = DW_ERR_MEMORY;
        return 0;
    }
    if (!*number) {
        *number = walk->graph->type_count;
        add_kind(walk, type);
    }
    return *number;
}

static void put_off(struct walk *walk, PyObject *object, dw_heap_node node)
{
    walk->error = DW_GROW(walk->foreign, walk->foreign_count, walk->foreign_capacity);
    if (walk->error)
        return;
    Py_INCREF(object);
    walk->foreign[walk->foreign_count++] = node;
}

static uint32_t references_to(PyObject *object)
{
    size_t count = (size_t)Py_REFCNT(object);
    return DW_PY_IS_IMMORTAL(object) || count >= DW_HEAP_IMMORTAL ? DW_HEAP_IMMORTAL
                                                                  : (uint32_t)count;
}

static void keep_hash(struct walk *walk, uint64_t hash, dw_heap_node node)
{
    struct dw_heap *heap = walk->heap;
    walk->error = DW_GROW(heap->hashes, heap->hash_count, heap->hash_capacity);
    if (!walk->error)
        heap->hashes[heap->hash_count++] = (struct dw_heap_hash){hash, node};
}

/* A list may stand where another one stood, without being allocated anew; its items do not. */
static void keep_block(struct walk *walk, PyObject *list, dw_heap_node node)
{
    struct dw_heap *heap = walk->heap;
    uintptr_t items = (uintptr_t)((PyListObject *)list)->ob_item;
    walk->error = DW_GROW(heap->blocks, heap->block_count, heap->block_capacity);
    if (!walk->error && items)
        heap->blocks[heap->block_count++] = (struct dw_heap_block){items, node};
}

static void look_at(struct walk *walk, dw_heap_node node)
{
    struct dw_heap_graph *graph = walk->graph;
    PyObject *object = (PyObject *)walk->heap->addresses[node];
    uint32_t type = type_of(walk, Py_TYPE(object));
    if (walk->error)
        return;
    const struct kind *kind = &walk->kinds[type];
    uint64_t hash;
    graph->types[node] = type;
    walk->heap->outside[node] = references_to(object);
    graph->sizes[node] = 0;
    if (dw_py_size_is_foreign(&kind->sizing))
        put_off(walk, object, node);
    else
        graph->sizes[node] = dw_py_size(object, &kind->sizing);
    if (walk->heap->has_hashes && dw_heap_text_hash(object, &hash))
        keep_hash(walk, hash, node);
    if (walk->has_makers && PyList_CheckExact(object) && !walk->error)
        keep_block(walk, object, node);
    if (!walk->error && object != walk->interned)
        dw_py_edges(object, &kind->edges, add_edge, walk);
}

static void begin_node(struct walk *walk, dw_heap_node node)
{
    make_room(walk, node);
    if (walk->error)
        return;
    walk->graph->first[node] = walk->graph->edge_count;
    walk->graph->types[node] = walk->heap->outside[node] = 0;
    walk->graph->sizes[node] = 0;
}

static void add_frame(struct walk *walk, dw_py_frame *frame, const PyThreadState *thread)
{
    struct dw_heap *heap = walk->heap;
    const PyCodeObject *code = dw_py_frame_code(frame);
    add_node(walk, 0);
    if (!walk->error)
        walk->error = DW_GROW(heap->frames, heap->frame_count, heap->frame_capacity);
    if (walk->error)
        return;
    struct dw_heap_frame *seen = &heap->frames[heap->frame_count++];
    *seen = (struct dw_heap_frame){.line = dw_py_frame_line(frame),
                                   .thread = thread->thread_id,
                                   .is_own = dw_py_frame_is_of(frame, "dwell.heap")};
    walk->error = dw_heap_name(&heap->names, code->co_qualname, &seen->function);
    if (!walk->error)
        walk->error = dw_heap_name(&heap->names, code->co_filename, &seen->file);
}

static void look_at_frame(struct walk *walk, dw_py_frame *frame, const PyThreadState *thread)
{
    (void)thread;
    begin_node(walk, ++walk->frames_seen);
    if (!walk->error)
        dw_py_frame_edges(frame, add_variable, walk);
}

typedef void frame_act(struct walk *walk, dw_py_frame *frame, const PyThreadState *thread);

static void for_frames(struct walk *walk, frame_act *act)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread; thread = PyThreadState_Next(thread))
        for (dw_py_frame *frame = dw_py_thread_frame(thread); frame && !walk->error;
             frame = dw_py_frame_previous(frame))
            act(walk, frame, thread);
}

/* All frames have their numbers before objects get theirs: the number of a frame says which it is.
 */
static int walk_all(struct walk *walk)
{
    add_node(walk, 0);
    add_kind(walk, NULL); /* of what is no object */
    begin_node(walk, 0);
    for_frames(walk, add_frame);
    for_frames(walk, look_at_frame);
    if (!walk->error && dw_py_heap_objects(add_object, walk))
        return 1;
    if (!walk->error)
        number_of(walk, PyImport_GetModuleDict());
    for (dw_heap_node node = walk->heap->frame_count + 1; !walk->error && node < walk->graph->count;
         node++) {
        begin_node(walk, node);
        if (!walk->error)
            look_at(walk, node);
    }
    if (!walk->error)
        walk->graph->first[walk->graph->count] = walk->graph->edge_count;
    return walk->error;
}

static PyObject *foreign_object(const struct walk *walk, uint32_t index)
{
    return (PyObject *)walk->heap->addresses[walk->foreign[index]];
}

static bool is_array(const struct kind *kind)
{
    return kind->edges.base && !kind->sizing.showing;
}

/* Once the graph stands: extension modules may let other threads run. */
static void ask_foreign(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->foreign_count && !walk->error; i++) {
        dw_heap_node node = walk->foreign[i];
        const struct kind *kind = &walk->kinds[walk->graph->types[node]];
        PyObject *object = foreign_object(walk, i);
        walk->graph->sizes[node] = dw_py_size(object, &kind->sizing);
        if (kind->sizing.showing)
            walk->error = dw_heap_show(&walk->shared, node, object, kind->sizing.showing);
        uint64_t hash;
        if (walk->heap->has_hashes && is_array(kind) && !walk->error &&
            dw_heap_array_hash(object, kind->edges.base, &hash))
            keep_hash(walk, hash, node);
    }
}

/* Which memory that is shown belongs to an object: to an array of NumPy, or to bytes. */
static void find_owners(struct walk *walk)
{
    const struct dw_heap_graph *graph = walk->graph;
    for (uint32_t i = 0; i < walk->foreign_count; i++) {
        dw_heap_node node = walk->foreign[i];
        const struct kind *kind = &walk->kinds[graph->types[node]];
        uintptr_t data =
            is_array(kind) ? dw_py_array_data(foreign_object(walk, i), kind->edges.base) : 0;
        if (data)
            dw_heap_own(&walk->shared, node, data, graph->sizes[node]);
    }
    for (dw_heap_node i = walk->heap->frame_count + 1; i < graph->count; i++)
        if (walk->heap->types[graph->types[i]].address == (uintptr_t)&PyBytes_Type)
            dw_heap_own(&walk->shared, i, walk->heap->addresses[i], graph->sizes[i]);
}

static int add_shared(struct walk *walk)
{
    if (!walk->error && walk->shared.shown_count) {
        walk->error = dw_heap_shared_sort(&walk->shared);
        if (!walk->error)
            find_owners(walk);
        if (!walk->error)
            walk->error = dw_heap_add_shared(walk->heap, &walk->shared);
    }
    for (uint32_t i = 0; i < walk->foreign_count; i++)
        Py_DECREF(foreign_object(walk, i));
    dw_heap_shared_release(&walk->shared);
    return walk->error;
}

static int find_modules(struct walk *walk)
{
    PyObject *modules = PyImport_GetModuleDict(), *name, *module;
    Py_ssize_t at = 0;
    struct dw_heap *heap = walk->heap;
    heap->modules = malloc(((size_t)PyDict_GET_SIZE(modules) + 1) * sizeof *heap->modules);
    if (!heap->modules)
        return DW_ERR_MEMORY;
    while (PyDict_Next(modules, &at, &name, &module))
        if (PyModule_Check(module))
            heap->modules[heap->module_count++] = (struct dw_heap_module){
                dw_address_map_find(&walk->numbers, (uintptr_t)module),
                dw_address_map_find(&walk->numbers, (uintptr_t)PyModule_GetDict(module))};
    return 0;
}

/* Gives back what growing has taken too much; where that fails it stays as it is. */
#define TRIM(array, count)                                                                         \
    do {                                                                                           \
        void *trimmed = realloc((array), ((size_t)(count) + 1) * sizeof *(array));                 \
        (array) = trimmed ? trimmed : (array);                                                     \
    } while (0)

static void trim(struct dw_heap *heap)
{
    struct dw_heap_graph *graph = &heap->graph;
    TRIM(graph->first, graph->count);
    TRIM(graph->types, graph->count);
    TRIM(graph->sizes, graph->count);
    TRIM(heap->addresses, graph->count);
    TRIM(heap->outside, graph->count);
    TRIM(graph->targets, graph->edge_count);
    TRIM(graph->roots, graph->root_count);
}

static int walk_to_end(struct walk *walk)
{
    int error = walk_all(walk);
    if (!error)
        error = find_modules(walk);
    walk->error = error;
    ask_foreign(walk);
    error = add_shared(walk);
    if (!error)
        error = dw_heap_find_roots(walk->heap);
    if (!error)
        trim(walk->heap);
    return error;
}

int dw_heap_walk(struct dw_heap *heap, bool with_hashes)
{
    struct walk walk = {.heap = heap, .graph = &heap->graph, .has_makers = dw_heap_has_makers()};
    *heap = (struct dw_heap){.has_hashes = with_hashes};
    int was_collecting = PyGC_Disable();
    walk.interned_string = dw_py_interned_string();
    int error = dw_string_table_init(&heap->names);
    if (!error)
        error = walk_to_end(&walk);
    Py_XDECREF(walk.interned_string);
    if (was_collecting)
        PyGC_Enable();
    dw_address_map_release(&walk.numbers);
    dw_address_map_release(&walk.type_numbers);
    free(walk.kinds);
    free(walk.foreign);
    if (error)
        dw_heap_release(heap);
    return error;
}
