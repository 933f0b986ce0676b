/* SPDX-License-Identifier: MIT
 * Parts of a picture must come whole and in order: a graph with a hole would tell lies about what
 * holds what. Memory is taken as entries come, not as the head promises them. */
#include "log/heap_parts.h"
#include "log/reading.h"

#include "base/grow.h"
#include "base/varint.h"

struct dw_heap_reading {
    uint32_t number; /* of the picture in the log */
    struct dw_heap_shot shot;
    uint32_t counts[DW_HEAP_PARTS]; /* entries that each part has, and that were read */
    uint32_t done[DW_HEAP_PARTS];
    uint32_t capacity[DW_HEAP_PARTS], value_capacity;
    bool is_damaged;
    struct dw_id_map names; /* by id in the log */
    struct dw_heap_guess guess;
    uint64_t *last_sizes;
    uint32_t *root_outside;
    uint32_t root_outside_capacity;
    dw_heap_node last;
    uint32_t last_index;
};

static uint64_t get_delta(struct dw_cursor *cursor, uint64_t guess)
{
    return guess + (uint64_t)dw_unzigzag(dw_cursor_get(cursor));
}

/* Of an entry of a table: below its size. */
static uint32_t get_below(struct dw_cursor *cursor, uint32_t size)
{
    uint32_t value = dw_cursor_get_u32(cursor);
    cursor->bad = cursor->bad || value >= size;
    return cursor->bad ? 0 : value;
}

static dw_heap_node get_node(const struct dw_heap_reading *heap, struct dw_cursor *cursor,
                             dw_heap_node guess)
{
    uint64_t node = get_delta(cursor, guess);
    cursor->bad = cursor->bad || !node || node >= heap->counts[DW_HEAP_NODES];
    return cursor->bad ? 0 : (dw_heap_node)node;
}

static dw_string_id get_name(const struct dw_heap_reading *heap, struct dw_cursor *cursor)
{
    uint32_t id = get_below(cursor, heap->names.count);
    return cursor->bad ? 0 : heap->names.ids[id];
}

static int read_name(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    size_t size;
    const uint8_t *bytes = dw_cursor_get_blob(cursor, &size);
    int error =
        bytes ? DW_GROW(heap->names.ids, heap->names.count, heap->names.capacity) : DW_ERR_DAMAGED;
    if (!error)
        error = dw_string_intern_name(&heap->shot.heap.names, bytes, size, &heap->names.ids[i]);
    heap->names.count += !error;
    return error;
}

/* A picture has no type that is unknown to it, so memory for what is known of each is bounded. */
static int read_type(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->types, i, heap->capacity[DW_HEAP_TYPES]);
    if (error)
        return error;
    into->types[i] = (struct dw_heap_type){0};
    into->types[i].module = get_name(heap, cursor);
    into->types[i].name = get_name(heap, cursor);
    into->graph.type_count++;
    return 0;
}

static int read_frame(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->frames, i, into->frame_capacity);
    if (error)
        return error;
    struct dw_heap_frame *frame = &into->frames[i];
    frame->function = get_name(heap, cursor);
    frame->file = get_name(heap, cursor);
    frame->line = (int)get_below(cursor, INT32_MAX);
    frame->thread = dw_cursor_get(cursor);
    frame->is_own = dw_cursor_get(cursor);
    into->frame_count++;
    return 0;
}

static int read_variable(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->variables, i, into->variable_capacity);
    if (error)
        return error;
    into->variables[i] = get_name(heap, cursor);
    into->variable_count++;
    return 0;
}

static int read_module(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->modules, i, heap->capacity[DW_HEAP_MODULES]);
    if (error)
        return error;
    into->modules[i].node = get_below(cursor, heap->counts[DW_HEAP_NODES]);
    into->modules[i].names = get_below(cursor, heap->counts[DW_HEAP_NODES]);
    cursor->bad = cursor->bad || !into->modules[i].node || !into->modules[i].names;
    into->module_count++;
    return 0;
}

static int read_node(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    int error = DW_GROW(graph->types, i, heap->capacity[DW_HEAP_NODES]);
    if (error)
        return error;
    graph->types[i] = get_below(cursor, graph->type_count);
    graph->count++;
    return 0;
}

static int read_size(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    if (!heap->last_sizes)
        heap->last_sizes = calloc((size_t)graph->type_count + 1, sizeof *heap->last_sizes);
    if (!heap->last_sizes || DW_GROW(graph->sizes, i, heap->capacity[DW_HEAP_SIZES]))
        return DW_ERR_MEMORY;
    uint64_t *last = &heap->last_sizes[graph->types[i]];
    *last = graph->sizes[i] = get_delta(cursor, *last);
    cursor->bad = cursor->bad || *last > INT64_MAX / graph->count;
    return 0;
}

static int read_degree(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    int error = i ? 0 : DW_GROW(graph->first, 0, heap->capacity[DW_HEAP_DEGREES]);
    if (!error)
        error = DW_GROW(graph->first, i + 1, heap->capacity[DW_HEAP_DEGREES]);
    if (error)
        return error;
    uint32_t before = i ? graph->first[i] : (graph->first[0] = 0);
    uint32_t degree = dw_cursor_get_u32(cursor);
    cursor->bad = cursor->bad || degree > heap->counts[DW_HEAP_TARGETS] - before || (degree && !i);
    graph->first[i + 1] = before + (cursor->bad ? 0 : degree);
    return 0;
}

static int read_target(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    if (!i && dw_heap_guess_init(&heap->guess, graph))
        return DW_ERR_MEMORY;
    if (graph->first[graph->count] != heap->counts[DW_HEAP_TARGETS])
        return DW_ERR_DAMAGED;
    int error = DW_GROW(graph->targets, i, heap->capacity[DW_HEAP_TARGETS]);
    if (error)
        return error;
    uint64_t code = dw_cursor_get(cursor);
    int64_t like = dw_heap_guess_next(&heap->guess, i);
    uint64_t target = code ? (uint64_t)(like + dw_unzigzag(code - 1)) : heap->guess.largest + 1u;
    cursor->bad = cursor->bad || !target || target >= graph->count;
    graph->targets[i] = cursor->bad ? 0 : (dw_heap_node)target;
    if (graph->targets[i] > heap->guess.largest)
        heap->guess.largest = graph->targets[i];
    graph->edge_count++;
    return 0;
}

static int read_root(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    int error = DW_GROW(graph->roots, i, heap->capacity[DW_HEAP_ROOTS]);
    if (!error)
        error = DW_GROW(heap->root_outside, i, heap->root_outside_capacity);
    if (error)
        return error;
    graph->roots[i] = get_node(heap, cursor, heap->last);
    cursor->bad = cursor->bad || graph->roots[i] <= heap->last;
    heap->last = graph->roots[i];
    uint64_t outside = dw_cursor_get(cursor);
    heap->root_outside[i] =
        outside && outside <= DW_HEAP_IMMORTAL ? (uint32_t)(outside - 1) : DW_HEAP_IMMORTAL;
    graph->root_count++;
    return 0;
}

static int read_step(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->step_kinds, i, heap->capacity[DW_HEAP_STEPS_PART]);
    if (!error)
        error = DW_GROW(into->step_values, i, heap->value_capacity);
    if (error)
        return error;
    uint8_t kind = into->step_kinds[i] = (uint8_t)get_below(cursor, DW_HEAP_STEPS);
    into->step_values[i] = dw_heap_step_has_name(kind) ? get_name(heap, cursor) : 0;
    if (kind == DW_HEAP_STEP_INDEX)
        into->step_values[i] = heap->last_index = (uint32_t)get_delta(cursor, heap->last_index);
    return 0;
}

static int read_note(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->notes, i, into->note_capacity);
    if (error)
        return error;
    into->notes[i].node = get_node(heap, cursor, heap->last);
    cursor->bad = cursor->bad || into->notes[i].node <= heap->last;
    heap->last = into->notes[i].node;
    into->notes[i].text = get_name(heap, cursor);
    into->note_count++;
    return 0;
}

static int read_site(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->sites, i, into->site_capacity);
    if (error)
        return error;
    into->sites[i].function = get_name(heap, cursor);
    into->sites[i].file = get_name(heap, cursor);
    into->sites[i].line = get_below(cursor, INT32_MAX);
    into->site_count++;
    return 0;
}

static int read_node_site(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i)
{
    struct dw_heap *into = &heap->shot.heap;
    int error = DW_GROW(into->node_sites, i, heap->capacity[DW_HEAP_NODE_SITES]);
    if (error)
        return error;
    into->node_sites[i] = get_below(cursor, into->site_count);
    return 0;
}

typedef int read_entry(struct dw_heap_reading *heap, struct dw_cursor *cursor, uint32_t i);
static read_entry *const reads_of[DW_HEAP_PARTS] = {
    [DW_HEAP_NAMES] = read_name,      [DW_HEAP_TYPES] = read_type,
    [DW_HEAP_FRAMES] = read_frame,    [DW_HEAP_VARIABLES] = read_variable,
    [DW_HEAP_MODULES] = read_module,  [DW_HEAP_NODES] = read_node,
    [DW_HEAP_SIZES] = read_size,      [DW_HEAP_DEGREES] = read_degree,
    [DW_HEAP_TARGETS] = read_target,  [DW_HEAP_ROOTS] = read_root,
    [DW_HEAP_STEPS_PART] = read_step, [DW_HEAP_NOTES] = read_note,
    [DW_HEAP_SITES] = read_site,      [DW_HEAP_NODE_SITES] = read_node_site,
};

static void free_reading(struct dw_reading *reading)
{
    struct dw_heap_reading *heap = reading->heap;
    dw_heap_release(&heap->shot.heap);
    dw_heap_guess_release(&heap->guess);
    free(heap->names.ids);
    free(heap->last_sizes);
    free(heap->root_outside);
    free(heap);
    reading->heap = NULL;
}

static bool is_of_nodes(enum dw_heap_part part)
{
    return part == DW_HEAP_SIZES || part == DW_HEAP_DEGREES || part == DW_HEAP_STEPS_PART ||
           part == DW_HEAP_NODE_SITES;
}

/* What the parts must have for the graph to be one. */
static bool counts_agree(const uint32_t counts[DW_HEAP_PARTS])
{
    uint32_t nodes = counts[DW_HEAP_NODES];
    for (int part = DW_HEAP_NAMES; part < DW_HEAP_PARTS; part++) {
        bool may_lack = part == DW_HEAP_STEPS_PART || part == DW_HEAP_NODE_SITES;
        if (is_of_nodes((enum dw_heap_part)part) && counts[part] != nodes &&
            !(may_lack && !counts[part]))
            return false;
    }
    return nodes && nodes < DW_HEAP_NONE - 1 && counts[DW_HEAP_TYPES] &&
           counts[DW_HEAP_FRAMES] < nodes && counts[DW_HEAP_ROOTS] < nodes;
}

static int begin(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t number)
{
    int error = dw_reading_end_heap(reading);
    struct dw_heap_reading *heap = error ? NULL : calloc(1, sizeof *heap);
    if (!heap)
        return error ? error : DW_ERR_MEMORY;
    reading->heap = heap;
    heap->number = number;
    error = dw_string_table_init(&heap->shot.heap.names);
    if (!error)
        error = dw_reading_process(reading, cursor, &heap->shot.process);
    heap->shot.time_ns = dw_cursor_get(cursor);
    if (!error)
        error = dw_reading_name(reading, cursor, &heap->shot.reason);
    for (int part = DW_HEAP_NAMES; part < DW_HEAP_PARTS && !error; part++)
        heap->counts[part] = dw_cursor_get_u32(cursor);
    if (!error && (cursor->bad || !counts_agree(heap->counts)))
        error = DW_ERR_DAMAGED;
    if (error) {
        free_reading(reading);
        return error;
    }
    const struct dw_clock_pair *epoch =
        &reading->profile->processes[heap->shot.process].first_clock;
    heap->shot.time_ns = heap->shot.time_ns - epoch->monotonic_ns + epoch->wall_ns;
    return 0;
}

/* Tables that others speak of are read before these. */
static bool is_ready(const struct dw_heap_reading *heap, enum dw_heap_part part, uint32_t first)
{
    for (int before = DW_HEAP_NAMES; before < (int)part; before++)
        if (heap->done[before] != heap->counts[before])
            return false;
    return first == heap->done[part];
}

static int read_part(struct dw_heap_reading *heap, struct dw_cursor *cursor, enum dw_heap_part part)
{
    uint32_t *at = &heap->done[part];
    int error = 0;
    if (!is_ready(heap, part, dw_cursor_get_u32(cursor)))
        return DW_ERR_DAMAGED;
    heap->last = *at ? heap->last : 0;
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        error = *at < heap->counts[part] ? reads_of[part](heap, cursor, *at) : DW_ERR_DAMAGED;
        *at += !error;
    }
    return error ? error : cursor->bad ? DW_ERR_DAMAGED : 0;
}

int dw_read_heap(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t number = dw_cursor_get_u32(cursor), part = get_below(cursor, DW_HEAP_PARTS);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    if (part == DW_HEAP_HEAD)
        return begin(reading, cursor, number);
    struct dw_heap_reading *heap = reading->heap;
    if (!heap || heap->number != number || heap->is_damaged)
        return DW_ERR_DAMAGED;
    int error = read_part(heap, cursor, (enum dw_heap_part)part);
    heap->is_damaged = error;
    return error;
}

static bool is_whole(const struct dw_heap_reading *heap)
{
    const struct dw_heap *read = &heap->shot.heap;
    for (int part = DW_HEAP_NAMES; part < DW_HEAP_PARTS; part++)
        if (heap->done[part] != heap->counts[part])
            return false;
    return !heap->is_damaged && read->variable_count >= read->graph.first[read->frame_count + 1];
}

/* Tables that came without an entry are there, too. */
static int complete(struct dw_heap_reading *heap)
{
    struct dw_heap_graph *graph = &heap->shot.heap.graph;
    uint32_t *outside = calloc(graph->count, sizeof *outside);
    if (!outside || DW_GROW(graph->targets, graph->edge_count, heap->capacity[DW_HEAP_TARGETS]) ||
        DW_GROW(graph->roots, graph->root_count, heap->capacity[DW_HEAP_ROOTS])) {
        free(outside);
        return DW_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < graph->root_count; i++)
        outside[graph->roots[i]] = heap->root_outside[i];
    heap->shot.heap.outside = outside;
    return 0;
}

/* A picture of which something is missing counts as a damaged chunk. */
int dw_reading_end_heap(struct dw_reading *reading)
{
    struct dw_heap_reading *heap = reading->heap;
    struct dw_profile *profile = reading->profile;
    if (!heap)
        return 0;
    int error = 0;
    if (!is_whole(heap))
        profile->losses.damaged_chunks += !heap->is_damaged;
    else
        error = complete(heap);
    if (!error && heap->shot.heap.outside)
        error = DW_GROW(profile->heaps, profile->heap_count, profile->heap_capacity);
    if (!error && heap->shot.heap.outside) {
        profile->heaps[profile->heap_count++] = heap->shot;
        heap->shot = (struct dw_heap_shot){0};
    }
    free_reading(reading);
    return error;
}
