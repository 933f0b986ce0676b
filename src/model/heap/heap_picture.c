/* SPDX-License-Identifier: MIT
 * What belongs to a picture is memory of malloc. */
#include "model/heap/heap_picture.h"

#include <stdlib.h>

void dw_heap_release(struct dw_heap *heap)
{
    dw_heap_graph_release(&heap->graph);
    free(heap->addresses);
    free(heap->outside);
    free(heap->types);
    free(heap->frames);
    free(heap->variables);
    free(heap->modules);
    free(heap->hashes);
    free(heap->step_kinds);
    free(heap->step_values);
    free(heap->notes);
    free(heap->sites);
    free(heap->node_sites);
    free(heap->blocks);
    dw_string_table_release(&heap->names);
    *heap = (struct dw_heap){0};
}

dw_heap_node dw_heap_find(const struct dw_heap *heap, uintptr_t address)
{
    for (dw_heap_node i = heap->frame_count + 1; heap->addresses && i < heap->graph.count; i++)
        if (heap->addresses[i] == address)
            return i;
    return 0;
}
