/* SPDX-License-Identifier: MIT
 * What is of a function, or of an edge, adds up; times do where none of the same is around. */
#include "model/call_graph.h"

#include "base/intern.h"
#include "model/outermost.h"

static uint64_t less(uint64_t time, double cost)
{
    return (double)time > cost ? time - (uint64_t)cost : 0;
}

/* Children come after their parents, so one way up settles self, the other total. */
void dw_call_items_correct(struct dw_call_item *items, uint32_t count,
                           const struct dw_call_cost *costs)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct dw_call_cost *cost = &costs[items[i].function];
        struct dw_call_item *parent = &items[items[i].parent];
        items[i].self = less(items[i].self, cost->inside * (double)items[i].count);
        parent->self = less(parent->self, cost->outside * (double)items[i].count);
        items[i].total = 0;
    }
    for (uint32_t i = count; i-- > 1;) {
        items[i].total += items[i].self;
        if (items[i].parent)
            items[items[i].parent].total += items[i].total;
    }
}

int dw_call_graph_init(struct dw_call_graph *graph, uint32_t function_count)
{
    *graph = (struct dw_call_graph){.function_count = function_count};
    graph->functions = calloc(function_count + 1u, sizeof *graph->functions);
    return graph->functions ? 0 : DW_ERR_MEMORY;
}

void dw_call_graph_release(struct dw_call_graph *graph)
{
    free(graph->functions);
    free(graph->edges);
    dw_map_release(&graph->edge_index);
    *graph = (struct dw_call_graph){0};
}

static int edge_of(struct dw_call_graph *graph, uint32_t caller, uint32_t callee, uint32_t *index)
{
    return DW_INTERN(graph->edges, graph->edge_count, graph->edge_capacity, graph->edge_index,
                     offsetof(struct dw_call_edge, sums),
                     (&(struct dw_call_edge){.caller = caller, .callee = callee}), index);
}

static void add(struct dw_call_sums *sums, const struct dw_call_item *item, bool is_outermost)
{
    sums->count += item->count;
    sums->self += item->self;
    sums->primitive += is_outermost ? item->count : 0;
    sums->total += is_outermost ? item->total : 0;
}

static int add_functions(struct dw_call_graph *graph, const struct dw_call_item *items,
                         uint32_t count, uint32_t *keys, bool *outermost)
{
    keys[0] = graph->function_count; /* the root is not a function */
    for (uint32_t i = 1; i < count; i++)
        keys[i] = items[i].function;
    int error =
        dw_outermost_find(items, sizeof *items, count, keys, graph->function_count + 1, outermost);
    for (uint32_t i = 1; i < count && !error; i++)
        add(&graph->functions[keys[i]], &items[i], outermost[i]);
    return error;
}

/* Keys are 1 + the index of the edge; what the root calls has none. */
static int add_edges(struct dw_call_graph *graph, const struct dw_call_item *items, uint32_t count,
                     uint32_t *keys, bool *outermost)
{
    int error = 0;
    keys[0] = 0;
    for (uint32_t i = 1; i < count && !error; i++) {
        uint32_t parent = items[i].parent, edge = UINT32_MAX;
        if (parent)
            error = edge_of(graph, items[parent].function, items[i].function, &edge);
        keys[i] = edge + 1;
    }
    if (!error)
        error =
            dw_outermost_find(items, sizeof *items, count, keys, graph->edge_count + 1, outermost);
    for (uint32_t i = 1; i < count && !error; i++)
        if (keys[i])
            add(&graph->edges[keys[i] - 1].sums, &items[i], outermost[i]);
    return error;
}

int dw_call_graph_add(struct dw_call_graph *graph, const struct dw_call_item *items, uint32_t count)
{
    uint32_t *keys = malloc((count + 1u) * sizeof *keys);
    bool *outermost = malloc((count + 1u) * sizeof *outermost);
    int error = !count ? DW_ERR_ARGUMENT : keys && outermost ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = add_functions(graph, items, count, keys, outermost);
    if (!error && !graph->lacks_edges)
        error = add_edges(graph, items, count, keys, outermost);
    free(keys);
    free(outermost);
    return error;
}
