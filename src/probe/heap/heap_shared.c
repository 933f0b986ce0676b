/* SPDX-License-Identifier: MIT
 * Nodes of pieces come last, so references to them are put in from the end. */
#include "probe/heap/heap_shared.h"

#include "base/error.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

static const char type_name[] = "<buffer>";

static int add_shown(uintptr_t start, size_t bytes, void *argument)
{
    struct dw_heap_shared *shared = argument;
    int error = DW_GROW(shared->shown, shared->shown_count, shared->shown_capacity);
    if (!error)
        shared->shown[shared->shown_count++] = (struct dw_heap_shown){
            .node = shared->node, .start = start, .bytes = bytes, .is_storage = shared->is_storage};
    return error;
}

int dw_heap_show(struct dw_heap_shared *shared, dw_heap_node node, PyObject *object,
                 enum dw_py_showing showing)
{
    shared->node = node;
    shared->is_storage = showing == DW_PY_TORCH_STORAGE;
    return dw_py_buffers(object, showing, add_shown, shared);
}

static int compare_pieces(const void *a, const void *b)
{
    const struct dw_heap_piece *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The first piece that does not start before an address. */
static uint32_t first_from(const struct dw_heap_shared *shared, uintptr_t start)
{
    uint32_t low = 0, high = shared->piece_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (shared->pieces[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of what starts at one place the longest stays. */
static void join_equal(struct dw_heap_shared *shared)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared->piece_count; i++) {
        struct dw_heap_piece *piece = &shared->pieces[i], *last = &shared->pieces[kept - !!kept];
        if (!kept || last->start != piece->start)
            shared->pieces[kept++] = *piece;
        else if (last->bytes < piece->bytes)
            last->bytes = piece->bytes;
    }
    shared->piece_count = kept;
}

int dw_heap_shared_sort(struct dw_heap_shared *shared)
{
    shared->pieces = malloc(shared->shown_count * sizeof *shared->pieces);
    if (!shared->pieces)
        return DW_ERR_MEMORY;
    shared->piece_count = shared->shown_count;
    for (uint32_t i = 0; i < shared->shown_count; i++)
        shared->pieces[i] = (struct dw_heap_piece){.start = shared->shown[i].start,
                                                   .bytes = shared->shown[i].bytes};
    qsort(shared->pieces, shared->piece_count, sizeof *shared->pieces, compare_pieces);
    join_equal(shared);
    for (uint32_t i = 0; i < shared->shown_count; i++) {
        struct dw_heap_shown *shown = &shared->shown[i];
        shown->piece = first_from(shared, shown->start);
        shared->pieces[shown->piece].storages += shown->is_storage;
    }
    return 0;
}

void dw_heap_own(struct dw_heap_shared *shared, dw_heap_node node, uintptr_t start, size_t bytes)
{
    uint32_t i = first_from(shared, start);
    for (; i < shared->piece_count && shared->pieces[i].start - start < bytes; i++)
        shared->pieces[i].owner = node;
}

#define RESIZE(array, count) resize((void **)&(array), (count), sizeof *(array))

static int resize(void **array, size_t count, size_t entry)
{
    void *resized = realloc(*array, (count + 1) * entry);
    *array = resized ? resized : *array;
    return resized ? 0 : DW_ERR_MEMORY;
}

static int make_room(struct dw_heap *heap, size_t nodes, size_t edges)
{
    struct dw_heap_graph *graph = &heap->graph;
    nodes += graph->count, edges += graph->edge_count;
    if (nodes > UINT32_MAX / 2 || edges > UINT32_MAX / 2)
        return DW_ERR_TOO_LARGE;
    int failed = RESIZE(graph->first, nodes) || RESIZE(graph->types, nodes) ||
                 RESIZE(graph->sizes, nodes) || RESIZE(graph->targets, edges) ||
                 RESIZE(heap->addresses, nodes) || RESIZE(heap->outside, nodes) ||
                 RESIZE(heap->types, graph->type_count);
    return failed ? DW_ERR_MEMORY : 0;
}

static void put_references(struct dw_heap_graph *graph, const struct dw_heap_shared *shared)
{
    uint32_t left = shared->shown_count, end = graph->edge_count, at = end + left;
    graph->first[graph->count] = graph->edge_count = at;
    for (dw_heap_node node = graph->count; left && node-- > 0;) {
        uint32_t begin = graph->first[node], count = end - begin;
        while (left && shared->shown[left - 1].node == node)
            graph->targets[--at] = graph->count + shared->shown[--left].piece;
        at -= count;
        memmove(graph->targets + at, graph->targets + begin, count * sizeof *graph->targets);
        graph->first[node] = at;
        end = begin;
    }
}

static void put_piece(struct dw_heap *heap, const struct dw_heap_piece *piece, uint32_t type)
{
    struct dw_heap_graph *graph = &heap->graph;
    dw_heap_node node = graph->count++;
    heap->addresses[node] = 0;
    heap->outside[node] = 0;
    graph->types[node] = type;
    graph->sizes[node] = piece->owner ? 0 : piece->bytes;
    for (uint32_t i = 0; piece->owner && (!i || i < piece->storages); i++)
        graph->targets[graph->edge_count++] = piece->owner;
    graph->first[graph->count] = graph->edge_count;
}

int dw_heap_add_shared(struct dw_heap *heap, struct dw_heap_shared *shared)
{
    struct dw_heap_graph *graph = &heap->graph;
    dw_string_id name;
    int error =
        make_room(heap, shared->piece_count, 2 * (size_t)shared->shown_count + shared->piece_count);
    if (!error)
        error = dw_string_intern(&heap->names, type_name, strlen(type_name), &name);
    if (error)
        return error;
    uint32_t type = graph->type_count++;
    heap->types[type] = (struct dw_heap_type){.name = name};
    put_references(graph, shared);
    for (uint32_t i = 0; i < shared->piece_count; i++)
        put_piece(heap, &shared->pieces[i], type);
    return 0;
}

void dw_heap_shared_release(struct dw_heap_shared *shared)
{
    free(shared->shown);
    free(shared->pieces);
    *shared = (struct dw_heap_shared){0};
}
