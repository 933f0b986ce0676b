/* SPDX-License-Identifier: MIT
 * Objects and the references between them: what dominates what, what would be freed with it, and
 * how the roots lead to it. Nothing here recurses, however long a chain of objects is. */
#ifndef DW_MODEL_HEAP_HEAP_GRAPH_H
#define DW_MODEL_HEAP_HEAP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t dw_heap_node;
#define DW_HEAP_NONE UINT32_MAX

/* Node 0 stands for whatever holds the roots; its references are `roots`. The caller fills the
 * first part with memory of malloc. */
struct dw_heap_graph {
    uint32_t count, edge_count, root_count, type_count;
    uint32_t *first; /* count + 1: the references of a node are targets[first[i]] to [first[i+1]] */
    dw_heap_node *targets;
    dw_heap_node *roots;
    uint32_t *types;
    uint64_t *sizes;
    /* Filled by dw_heap_graph_dominate. */
    dw_heap_node *dominators; /* by node: the last node that all ways from node 0 pass before it */
    uint64_t *retained;       /* the bytes of a node and of all that it dominates */
    bool *is_garbage;         /* no root leads to it */
};

struct dw_heap_type_sums {
    uint64_t count;
    uint64_t size;
    uint64_t retained; /* by those that no other of the type dominates */
};

void dw_heap_graph_release(struct dw_heap_graph *graph);
/* Garbage is held by node 0, through the first of its objects that reach the others. */
int dw_heap_graph_dominate(struct dw_heap_graph *graph);
/* Adds up by type, once dominated; node 0 is left out. `sums` has a place for each type. */
int dw_heap_graph_sum_types(const struct dw_heap_graph *graph, struct dw_heap_type_sums *sums);
/* Garbage, and a node with all that it dominates, count for nothing from now on: they have no bytes
 * and are called garbage. */
int dw_heap_graph_leave_out(struct dw_heap_graph *graph, dw_heap_node node);
/* The nodes from `first` on that retain most, at most `limit`. Of those that pass on nine tenths to
 * one that they dominate, and that to the next, one is told. */
int dw_heap_graph_find_largest(const struct dw_heap_graph *graph, dw_heap_node first,
                               uint32_t limit, dw_heap_node *best, uint32_t *count);
/* The nodes of the wanted types that retain most. How many there are. */
uint32_t dw_heap_graph_find_largest_of(const struct dw_heap_graph *graph, const bool *is_wanted,
                                       uint32_t limit, dw_heap_node *best);
/* The garbage that no other garbage dominates, and that retains most. How many there are. */
uint32_t dw_heap_graph_find_largest_garbage(const struct dw_heap_graph *graph, uint32_t limit,
                                            dw_heap_node *best);
/* For each node the one before it on a shortest way from one of the starts, which have 0;
 * DW_HEAP_NONE where no way leads. `parents` has a place for each node and is prepared by the
 * first call; a second one with other starts adds the nodes that the first did not reach. */
void dw_heap_graph_prepare(const struct dw_heap_graph *graph, dw_heap_node *parents);
int dw_heap_graph_reach(const struct dw_heap_graph *graph, const dw_heap_node *starts,
                        uint32_t start_count, dw_heap_node *parents);

#endif
