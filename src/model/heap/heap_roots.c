/* SPDX-License-Identifier: MIT
 * The walks inside a process and from outside count references alike, so both find roots here. */
#include "model/heap/heap_roots.h"

#include "base/error.h"

#include <stdlib.h>

int dw_heap_find_roots(struct dw_heap *heap)
{
    struct dw_heap_graph *graph = &heap->graph;
    uint32_t *inside = calloc(graph->count, sizeof *inside);
    graph->roots = malloc(graph->count * sizeof *graph->roots);
    if (!inside || !graph->roots) {
        free(inside);
        return DW_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++)
        inside[graph->targets[i]]++;
    for (dw_heap_node i = 1; i < graph->count; i++) {
        uint32_t *outside = &heap->outside[i];
        if (*outside != DW_HEAP_IMMORTAL)
            *outside = *outside > inside[i] ? *outside - inside[i] : 0;
        if (*outside || i <= heap->frame_count)
            graph->roots[graph->root_count++] = i;
    }
    free(inside);
    return 0;
}
