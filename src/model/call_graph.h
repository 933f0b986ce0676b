/* SPDX-License-Identifier: MIT
 * From call paths to functions and to the calls between them, as pstats and
 * callgrind want it. Full paths make recursion exact: a function's cumulative
 * time counts only where it is not inside itself. */
#ifndef DW_MODEL_CALL_GRAPH_H
#define DW_MODEL_CALL_GRAPH_H

#include "base/map.h"

/* One call path, after its parent. Item 0 is a root, which is not a call. */
struct dw_call_item {
    uint32_t parent;
    uint32_t function;
    uint64_t count;
    uint64_t total;
    uint64_t self;
};

/* What measuring a call adds: to its own time, and to its caller's. */
struct dw_call_cost {
    double inside;
    double outside;
};

/* Takes the cost of measuring out of the times; costs are by function, in the times' unit. */
void dw_call_items_correct(struct dw_call_item *items, uint32_t count,
                           const struct dw_call_cost *costs);

struct dw_call_sums {
    uint64_t count;     /* calls */
    uint64_t primitive; /* calls that were not inside another of the same */
    uint64_t total;     /* of the primitive ones */
    uint64_t self;
};

struct dw_call_edge {
    uint32_t caller;
    uint32_t callee;
    struct dw_call_sums sums;
};

struct dw_call_graph {
    struct dw_call_sums *functions;
    uint32_t function_count;
    struct dw_call_edge *edges;
    uint32_t edge_count, edge_capacity;
    struct dw_map edge_index;
    bool lacks_edges; /* set by who needs functions alone, before the first path is added */
};

int dw_call_graph_init(struct dw_call_graph *graph, uint32_t function_count);
void dw_call_graph_release(struct dw_call_graph *graph);
/* Adds the paths of one thread. */
int dw_call_graph_add(struct dw_call_graph *graph, const struct dw_call_item *items,
                      uint32_t count);

#endif
