/* SPDX-License-Identifier: MIT
 * One walk over the tree, down and up again, without recursion in C. */
#include "model/call_graph.h"

#include "base/intern.h"

#include <string.h>

#define NONE UINT32_MAX

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

static void enter(struct dw_call_sums *sums, const struct dw_call_item *item)
{
    sums->count += item->count;
    sums->self += item->self;
    if (sums->depth++)
        return;
    sums->primitive += item->count;
    sums->total += item->total;
}

/* The tree as lists of children: heads and nexts by item, and each item's edge. */
struct walk {
    uint32_t *first_child, *next_sibling, *edge;
};

static int link_children(struct walk *walk, const struct dw_call_item *items, uint32_t count)
{
    walk->first_child = malloc(3 * (size_t)count * sizeof(uint32_t));
    if (!walk->first_child)
        return DW_ERR_MEMORY;
    memset(walk->first_child, 0xff, 3 * (size_t)count * sizeof(uint32_t));
    walk->next_sibling = walk->first_child + count;
    walk->edge = walk->next_sibling + count;
    for (uint32_t i = count; i-- > 1;) {
        walk->next_sibling[i] = walk->first_child[items[i].parent];
        walk->first_child[items[i].parent] = i;
    }
    return 0;
}

static int begin(struct dw_call_graph *graph, struct walk *walk, const struct dw_call_item *items,
                 uint32_t at)
{
    const struct dw_call_item *item = &items[at];
    enter(&graph->functions[item->function], item);
    if (item->parent == 0 || graph->lacks_edges)
        return 0;
    int error = edge_of(graph, items[item->parent].function, item->function, &walk->edge[at]);
    if (!error)
        enter(&graph->edges[walk->edge[at]].sums, item);
    return error;
}

static void end(struct dw_call_graph *graph, const struct walk *walk,
                const struct dw_call_item *items, uint32_t at)
{
    graph->functions[items[at].function].depth--;
    if (walk->edge[at] != NONE)
        graph->edges[walk->edge[at]].sums.depth--;
}

/* The item after `at` in a walk that goes down first; ends those that it leaves. */
static uint32_t next_item(struct dw_call_graph *graph, const struct walk *walk,
                          const struct dw_call_item *items, uint32_t at)
{
    if (walk->first_child[at] != NONE)
        return walk->first_child[at];
    while (at) {
        end(graph, walk, items, at);
        if (walk->next_sibling[at] != NONE)
            return walk->next_sibling[at];
        at = items[at].parent;
    }
    return NONE;
}

int dw_call_graph_add(struct dw_call_graph *graph, const struct dw_call_item *items, uint32_t count)
{
    struct walk walk;
    int error = count ? link_children(&walk, items, count) : DW_ERR_ARGUMENT;
    if (error)
        return error;
    for (uint32_t at = walk.first_child[0]; at != NONE && !error;) {
        error = begin(graph, &walk, items, at);
        at = next_item(graph, &walk, items, at);
    }
    free(walk.first_child);
    return error;
}
