/* SPDX-License-Identifier: MIT
 * Nodes are numbered as in a walk from inside: frames, tracked objects, then whatever these lead
 * to. */
#include "attach/heap/outside_walk.h"

#include "attach/heap/outside_edges.h"
#include "attach/heap/outside_steps.h"
#include "attach/python/field.h"
#include "attach/python/interpreter.h"
#include "attach/python/py_code.h"
#include "attach/python/py_object.h"
#include "base/error.h"
#include "base/grow.h"
#include "model/heap/heap_roots.h"

#include <stdlib.h>

#define GC_HEAD_BYTES 16
#define LINK_FLAGS ((uint64_t)3)
#define MAX_OBJECTS (UINT32_MAX - 1)
#define MAX_DEPTH 65536
#define MAX_NAME 256
#define MAX_GC_BYTES 1024u

struct walk {
    const struct dw_python *python;
    struct dw_heap *heap;
    struct dw_heap_graph *graph;
    struct dw_outside_memory memory;
    struct dw_outside_types types;
    struct dw_address_map numbers;
    uint32_t node_capacity, rest_capacity, edge_capacity;
    struct dw_buffer text, more_text;
    struct dw_stack_reader reader;
    struct dw_raw_stack stack;
    dw_string_id variable; /* the name of what is visited next, of a frame */
    bool is_frame;
    uint32_t frames_seen;
    uint64_t modules; /* sys.modules */
    int error;
};

static dw_heap_node add_node(struct walk *walk, uint64_t address)
{
    struct dw_heap_graph *graph = walk->graph;
    walk->error = graph->count >= MAX_OBJECTS
                      ? DW_ERR_MEMORY
                      : DW_GROW(walk->heap->addresses, graph->count, walk->node_capacity);
    if (walk->error)
        return 0;
    walk->heap->addresses[graph->count] = (uintptr_t)address;
    return graph->count++;
}

/* 0 for what is no object. */
static dw_heap_node number_of(struct walk *walk, uint64_t object)
{
    uint32_t number = dw_address_map_find(&walk->numbers, (uintptr_t)object);
    if (number || walk->error || !object || object & 7 || !dw_outside_type_of(&walk->types, object))
        return number;
    uint32_t *place = dw_address_map_at(&walk->numbers, (uintptr_t)object);
    if (!place)
        walk->error = DW_ERR_MEMORY;
    else
        *place = number = add_node(walk, object);
    return number;
}

static void add_edge(uint64_t target, void *argument)
{
    struct walk *walk = argument;
    struct dw_heap_graph *graph = walk->graph;
    struct dw_heap *heap = walk->heap;
    dw_heap_node number = target && !walk->error ? number_of(walk, target) : 0;
    if (!number || walk->error)
        return;
    if (walk->is_frame) {
        walk->error = DW_GROW(heap->variables, heap->variable_count, heap->variable_capacity);
        if (walk->error)
            return;
        heap->variables[heap->variable_count++] = walk->variable;
    }
    walk->error = DW_GROW(graph->targets, graph->edge_count, walk->edge_capacity);
    if (!walk->error)
        graph->targets[graph->edge_count++] = number;
}

#define RESIZE(array, count)                                                                       \
    do {                                                                                           \
        void *resized = realloc((array), (count) * sizeof *(array));                               \
        (array) = resized ? resized : (array);                                                     \
        walk->error = resized ? walk->error : DW_ERR_MEMORY;                                       \
    } while (0)

/* Makes room for all that a node has beside its address. */
static void begin_node(struct walk *walk, dw_heap_node node)
{
    struct dw_heap_graph *graph = walk->graph;
    size_t wanted = walk->node_capacity;
    if (node + 1 >= walk->rest_capacity) {
        RESIZE(graph->first, wanted + 1);
        RESIZE(graph->types, wanted);
        RESIZE(graph->sizes, wanted);
        RESIZE(walk->heap->outside, wanted);
        walk->rest_capacity = walk->node_capacity;
    }
    if (walk->error)
        return;
    graph->first[node] = graph->edge_count;
    graph->types[node] = walk->heap->outside[node] = 0;
    graph->sizes[node] = 0;
}

static uint32_t references_to(struct walk *walk, uint64_t object)
{
    uint64_t count = dw_outside_at(&walk->memory, object);
    bool is_old = dw_python_minor(walk->python) == 11;
    if (is_old)
        return count < DW_HEAP_IMMORTAL ? (uint32_t)count : DW_HEAP_IMMORTAL;
    return (int32_t)(uint32_t)count < 0 ? DW_HEAP_IMMORTAL : (uint32_t)count;
}

static void look_at(struct walk *walk, dw_heap_node node, struct dw_outside_numbers *numbers)
{
    uint64_t object = walk->heap->addresses[node];
    uint32_t number = dw_outside_type_of(&walk->types, object);
    struct dw_outside_type type = walk->types.types[number]; /* the table may move */
    const struct dw_outside_visitor visitor = {&walk->types, add_edge, walk};
    walk->graph->types[node] = number;
    walk->graph->sizes[node] = dw_outside_size(&walk->types, object, &type);
    walk->heap->outside[node] = references_to(walk, object);
    numbers->unknown += type.is_unknown;
    dw_outside_edges(&visitor, object, &type);
}

/* The list of a generation begins at `head`; a wrong one does not lead back to itself. */
static bool is_list(struct walk *walk, uint64_t head)
{
    uint64_t next = dw_outside_at(&walk->memory, head) & ~LINK_FLAGS;
    uint64_t last = dw_outside_at(&walk->memory, head + 8) & ~LINK_FLAGS;
    return next && last && (dw_outside_at(&walk->memory, next + 8) & ~LINK_FLAGS) == head &&
           (dw_outside_at(&walk->memory, last) & ~LINK_FLAGS) == head;
}

static void add_list(struct walk *walk, uint64_t head)
{
    uint64_t at = dw_outside_at(&walk->memory, head) & ~LINK_FLAGS;
    while (at && at != head && !walk->error) {
        if (!number_of(walk, at + GC_HEAD_BYTES))
            break;
        at = dw_outside_at(&walk->memory, at) & ~LINK_FLAGS;
    }
}

/* The generations differ between versions, and within 3.14. Whatever is a list of objects within
 * the collector's state is one of them. */
static int add_tracked(struct walk *walk, uint64_t interpreter)
{
    const struct dw_py_offsets *offsets = &walk->python->offsets;
    uint64_t state = interpreter + offsets->interpreter_gc;
    uint32_t lists = 0;
    for (uint64_t at = 0; at + GC_HEAD_BYTES <= offsets->gc_size; at += 8)
        if (is_list(walk, state + at)) {
            add_list(walk, state + at);
            lists++;
        }
    return lists ? walk->error : DW_ERR_DAMAGED;
}

/* The interpreter's own state points to the table of interned strings, which is tracked from 3.14
 * on. */
static void find_interned(struct walk *walk, uint64_t interpreter)
{
    uint64_t end = interpreter + walk->python->offsets.interpreter_size;
    for (uint64_t at = interpreter; at < end && !walk->types.interned; at += 8) {
        uint64_t object = dw_outside_at(&walk->memory, at);
        if (!dw_address_map_find(&walk->numbers, (uintptr_t)object))
            continue;
        uint32_t type = dw_outside_type_of(&walk->types, object);
        if (walk->types.types[type].kind == DW_OUTSIDE_DICT &&
            dw_outside_maps_to_itself(&walk->types, object))
            walk->types.interned = object;
    }
}

static int intern(struct walk *walk, const struct dw_buffer *text, dw_string_id *id)
{
    return dw_string_intern(&walk->heap->names, text->size ? (const char *)text->data : "",
                            text->size, id);
}

static int name_frame(struct walk *walk, const struct dw_raw_frame *raw,
                      const struct dw_py_code *code, struct dw_heap_frame *frame)
{
    struct dw_location location = {0};
    dw_buffer_restart(&walk->text);
    dw_py_code_name(walk->python, code, &walk->text);
    int error = intern(walk, &walk->text, &frame->function);
    dw_buffer_restart(&walk->text);
    if (!error)
        dw_py_code_file(walk->python, code, &walk->text);
    if (!error)
        error = intern(walk, &walk->text, &frame->file);
    dw_buffer_restart(&walk->text);
    dw_py_code_location(walk->python, code, raw->instruction, &walk->text, &location);
    frame->line = (int)location.line;
    return error;
}

static void add_frame(struct walk *walk, const struct dw_raw_frame *raw,
                      const struct dw_py_thread *thread)
{
    struct dw_heap *heap = walk->heap;
    struct dw_py_code code;
    if (walk->error || dw_py_code_read(walk->python, raw, &code) ||
        !dw_py_code_has_begun(walk->python, raw, &code))
        return;
    add_node(walk, 0);
    if (!walk->error)
        walk->error = DW_GROW(heap->frames, heap->frame_count, heap->frame_capacity);
    if (walk->error)
        return;
    struct dw_heap_frame *frame = &heap->frames[heap->frame_count++];
    *frame = (struct dw_heap_frame){.thread = thread->ident};
    walk->error = name_frame(walk, raw, &code, frame);
}

static void name_variable(struct walk *walk, const struct dw_py_code *code, uint32_t index)
{
    const struct dw_py_offsets *offsets = &walk->python->offsets;
    uint64_t names = dw_u64_at(code->head, offsets->code_local_names);
    uint64_t name = dw_outside_at(&walk->memory, names + offsets->tuple_items + index * 8u);
    bool cut;
    dw_buffer_restart(&walk->text);
    walk->variable = 0;
    if (dw_outside_type_of(&walk->types, name) &&
        !dw_py_string_read(walk->python, name, MAX_NAME, &walk->text, &cut))
        walk->error = intern(walk, &walk->text, &walk->variable);
}

static void look_at_frame(struct walk *walk, const struct dw_raw_frame *raw,
                          const struct dw_py_thread *thread)
{
    const struct dw_outside_visitor visitor = {&walk->types, add_edge, walk};
    struct dw_py_code code;
    (void)thread;
    if (walk->error || dw_py_code_read(walk->python, raw, &code) ||
        !dw_py_code_has_begun(walk->python, raw, &code))
        return;
    begin_node(walk, ++walk->frames_seen);
    walk->is_frame = true;
    uint32_t count = dw_py_code_local_count(walk->python, &code);
    for (uint32_t i = 0; i < count && !walk->error; i++) {
        uint64_t at = raw->address + walk->python->offsets.frame_locals + i * 8u;
        name_variable(walk, &code, i);
        add_edge(dw_py_untagged(dw_outside_at(&walk->memory, at)), walk);
    }
    walk->variable = 0;
    dw_outside_frame_edges(&visitor, raw->address);
    walk->is_frame = false;
}

typedef void frame_act(struct walk *walk, const struct dw_raw_frame *frame,
                       const struct dw_py_thread *thread);

static void for_frames(struct walk *walk, const struct dw_py_threads *threads, uint64_t interpreter,
                       frame_act *act)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        if (threads->threads[i].interpreter != interpreter)
            continue;
        dw_stack_read(&walk->reader, threads->threads[i].state, &walk->stack);
        for (uint32_t j = 0; j < walk->stack.count; j++)
            act(walk, &walk->stack.frames[j], &threads->threads[i]);
    }
}

static void add_module(uint64_t key, uint64_t value, void *argument)
{
    struct walk *walk = argument;
    struct dw_heap *heap = walk->heap;
    (void)key;
    uint64_t names = dw_outside_at(&walk->memory, value + 16);
    dw_heap_node node = dw_address_map_find(&walk->numbers, (uintptr_t)value);
    dw_heap_node of_names = names & 7 ? 0 : dw_address_map_find(&walk->numbers, (uintptr_t)names);
    uint32_t type = of_names ? dw_outside_type_of(&walk->types, names) : 0;
    if (!node || walk->types.types[type].kind != DW_OUTSIDE_DICT || walk->error)
        return;
    struct dw_heap_module *grown =
        realloc(heap->modules, (heap->module_count + 1u) * sizeof *heap->modules);
    if (!grown) {
        walk->error = DW_ERR_MEMORY;
        return;
    }
    heap->modules = grown;
    heap->modules[heap->module_count++] = (struct dw_heap_module){node, of_names};
}

static int name_types(struct walk *walk, struct dw_outside_numbers *numbers)
{
    struct dw_heap *heap = walk->heap;
    walk->graph->type_count = walk->types.count;
    heap->types = calloc(walk->types.count + 1u, sizeof *heap->types);
    int error = heap->types ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 1; i < walk->graph->type_count && !error; i++) {
        struct dw_outside_type type = walk->types.types[i];
        heap->types[i].address = (uintptr_t)type.address;
        dw_buffer_restart(&walk->text);
        dw_buffer_restart(&walk->more_text);
        dw_outside_type_name(&walk->types, &type, &walk->text, &walk->more_text);
        error = intern(walk, &walk->text, &heap->types[i].module);
        if (!error)
            error = intern(walk, &walk->more_text, &heap->types[i].name);
        numbers->unknown_types += type.is_unknown;
    }
    return error;
}

static int walk_all(struct walk *walk, struct dw_outside_numbers *numbers)
{
    const struct dw_py_offsets *offsets = &walk->python->offsets;
    uint64_t interpreter =
        dw_outside_at(&walk->memory, walk->python->runtime + offsets->runtime_interpreters);
    struct dw_py_threads threads = {0};
    int error = dw_py_threads_read(walk->python, &threads);
    /* The list of interpreters begins with the one made last; the main one has the number 0. */
    for (uint32_t i = 0; i < threads.count; i++)
        interpreter =
            threads.threads[i].interpreter_id ? interpreter : threads.threads[i].interpreter;
    add_node(walk, 0);
    begin_node(walk, 0);
    for_frames(walk, &threads, interpreter, add_frame);
    for_frames(walk, &threads, interpreter, look_at_frame);
    if (!error)
        error = add_tracked(walk, interpreter);
    if (!error)
        find_interned(walk, interpreter);
    numbers->tracked = walk->graph->count - 1 - walk->heap->frame_count;
    walk->modules = dw_outside_at(&walk->memory, interpreter + offsets->interpreter_modules);
    number_of(walk, walk->modules);
    for (dw_heap_node node = walk->heap->frame_count + 1;
         !error && !walk->error && node < walk->graph->count; node++) {
        begin_node(walk, node);
        if (!walk->error)
            look_at(walk, node, numbers);
    }
    if (!walk->error && !error) {
        walk->graph->first[walk->graph->count] = walk->graph->edge_count;
        dw_outside_items(&walk->types, walk->modules, add_module, walk);
    }
    dw_py_threads_release(&threads);
    return error ? error : walk->error;
}

static int run(struct walk *walk, struct dw_outside_numbers *numbers)
{
    int error = dw_string_table_init(&walk->heap->names);
    if (!error)
        error =
            dw_outside_types_init(&walk->types, walk->python, &walk->memory, &walk->heap->names);
    if (!error)
        error = dw_stack_reader_init(&walk->reader, walk->python, MAX_DEPTH);
    if (!error)
        error = dw_raw_stack_init(&walk->stack, MAX_DEPTH);
    if (!error)
        error = walk_all(walk, numbers);
    if (!error)
        error = walk->memory.error ? walk->memory.error : walk->types.error;
    if (!error)
        error = name_types(walk, numbers);
    if (!error)
        error = dw_heap_find_roots(walk->heap);
    if (!error)
        error = dw_outside_name_steps(&walk->types, &walk->numbers, walk->modules, walk->heap);
    numbers->objects = walk->graph->count - 1 - walk->heap->frame_count;
    numbers->bytes_read = (uint64_t)walk->memory.count << 16;
    return error;
}

bool dw_outside_is_collecting(const struct dw_python *python)
{
    const struct dw_py_offsets *offsets = &python->offsets;
    uint64_t interpreter, word;
    return !dw_target_read_u64(python->target, python->runtime + offsets->runtime_interpreters,
                               &interpreter) &&
           !dw_target_read_u64(python->target,
                               interpreter + offsets->interpreter_gc + offsets->gc_collecting,
                               &word) &&
           (uint32_t)word;
}

int dw_outside_walk(const struct dw_python *python, struct dw_heap *heap,
                    struct dw_outside_numbers *numbers)
{
    struct walk walk = {.python = python,
                        .heap = heap,
                        .graph = &heap->graph,
                        .memory = {.target = python->target}};
    *heap = (struct dw_heap){0};
    *numbers = (struct dw_outside_numbers){.is_collecting = dw_outside_is_collecting(python)};
    if (!python->offsets.gc_size || python->offsets.gc_size > MAX_GC_BYTES)
        return DW_ERR_PYTHON_VERSION;
    int error = run(&walk, numbers);
    dw_outside_types_release(&walk.types);
    dw_outside_memory_release(&walk.memory);
    dw_address_map_release(&walk.numbers);
    dw_stack_reader_release(&walk.reader);
    dw_raw_stack_release(&walk.stack);
    dw_buffer_release(&walk.text);
    dw_buffer_release(&walk.more_text);
    if (error)
        dw_heap_release(heap);
    return error;
}
