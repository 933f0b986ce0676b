/* SPDX-License-Identifier: MIT
 * The search goes from one kind of roots after the other; what was reached stays. */
#include "model/heap/heap_ways.h"

#include "base/error.h"

#include <stdlib.h>

/* From globals and from variables of running functions. A module holds other things too, which
 * have no names there, so it comes in the next turn again. */
static int reach_from_names(const struct dw_heap *heap, dw_heap_node *starts, dw_heap_node *parents)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < heap->module_count; i++) {
        parents[heap->modules[i].node] = 0;
        starts[count++] = heap->modules[i].names;
    }
    for (dw_heap_node i = 1; i <= heap->frame_count; i++)
        if (!heap->frames[i - 1].is_own)
            starts[count++] = i;
    int error = dw_heap_graph_reach(&heap->graph, starts, count, parents);
    for (uint32_t i = 0; i < heap->module_count; i++) {
        parents[heap->modules[i].names] = heap->modules[i].node;
        parents[heap->modules[i].node] = DW_HEAP_NONE;
    }
    return error;
}

static int reach_from_others(const struct dw_heap *heap, dw_heap_node *starts,
                             dw_heap_node *parents)
{
    const struct dw_heap_graph *graph = &heap->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < heap->module_count; i++)
        starts[count++] = heap->modules[i].node;
    for (uint32_t i = 0; i < graph->root_count; i++)
        if (graph->roots[i] > heap->frame_count)
            starts[count++] = graph->roots[i];
    return dw_heap_graph_reach(graph, starts, count, parents);
}

/* Dwell's own frames come last. */
int dw_heap_find_ways(const struct dw_heap *heap, dw_heap_node *parents)
{
    const struct dw_heap_graph *graph = &heap->graph;
    dw_heap_node *starts = malloc(((size_t)graph->count + heap->module_count) * sizeof *starts);
    if (!starts)
        return DW_ERR_MEMORY;
    dw_heap_graph_prepare(graph, parents);
    int error = reach_from_names(heap, starts, parents);
    if (!error)
        error = reach_from_others(heap, starts, parents);
    free(starts);
    return error ? error : dw_heap_graph_reach(graph, graph->roots, graph->root_count, parents);
}
