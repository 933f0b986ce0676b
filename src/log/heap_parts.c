/* SPDX-License-Identifier: MIT
 * Writer and reader guess alike. */
#include "log/heap_parts.h"

#include "base/error.h"

#include <stdlib.h>

int dw_heap_guess_init(struct dw_heap_guess *guess, const struct dw_heap_graph *graph)
{
    *guess = (struct dw_heap_guess){.graph = graph};
    guess->last_of_type = calloc((size_t)graph->type_count + 1, sizeof *guess->last_of_type);
    return guess->last_of_type ? 0 : DW_ERR_MEMORY;
}

void dw_heap_guess_release(struct dw_heap_guess *guess)
{
    free(guess->last_of_type);
}

static void go_to_holder(struct dw_heap_guess *guess, uint32_t edge)
{
    const struct dw_heap_graph *graph = guess->graph;
    while (edge >= graph->first[guess->node + 1]) {
        guess->last_of_type[graph->types[guess->node]] = guess->node;
        guess->node++;
    }
}

dw_heap_node dw_heap_guess_next(struct dw_heap_guess *guess, uint32_t edge)
{
    const struct dw_heap_graph *graph = guess->graph;
    go_to_holder(guess, edge);
    dw_heap_node like = guess->last_of_type[graph->types[guess->node]];
    uint32_t at = graph->first[like] + (edge - graph->first[guess->node]);
    if (like && at < graph->first[like + 1])
        return graph->targets[at];
    return edge > graph->first[guess->node] ? graph->targets[edge - 1] : guess->node;
}
