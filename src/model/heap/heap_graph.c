/* SPDX-License-Identifier: MIT
 * What is asked of a graph that stands: sums by type and shortest ways. */
#include "model/heap/heap_graph.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define PASSED_ON 5 /* from one object to the next, until it is one that people mean */

void dw_heap_graph_release(struct dw_heap_graph *graph)
{
    free(graph->first);
    free(graph->targets);
    free(graph->roots);
    free(graph->types);
    free(graph->sizes);
    free(graph->dominators);
    free(graph->retained);
    free(graph->is_garbage);
    *graph = (struct dw_heap_graph){0};
}

/* The tree of dominators as lists of children, and how many of each type are open. */
struct tree {
    dw_heap_node *first_child, *next_sibling;
    uint32_t *open;
};

static int tree_init(struct tree *tree, const struct dw_heap_graph *graph)
{
    size_t count = graph->count;
    tree->first_child = calloc(2 * count, sizeof(dw_heap_node));
    tree->open = calloc((size_t)graph->type_count + 1, sizeof *tree->open);
    if (!tree->first_child || !tree->open)
        return DW_ERR_MEMORY;
    tree->next_sibling = tree->first_child + count;
    for (dw_heap_node i = graph->count; i-- > 1;) {
        tree->next_sibling[i] = tree->first_child[graph->dominators[i]];
        tree->first_child[graph->dominators[i]] = i;
    }
    return 0;
}

static void add(const struct dw_heap_graph *graph, struct tree *tree, dw_heap_node node,
                struct dw_heap_type_sums *sums)
{
    struct dw_heap_type_sums *sum = &sums[graph->types[node]];
    sum->count++;
    sum->size += graph->sizes[node];
    if (!tree->open[graph->types[node]]++)
        sum->retained += graph->retained[node];
}

/* Leaves nodes until one has a sibling; gives it, or 0 at the end. */
static dw_heap_node next_up(const struct dw_heap_graph *graph, struct tree *tree, dw_heap_node node)
{
    for (; node; node = graph->dominators[node]) {
        tree->open[graph->types[node]]--;
        if (tree->next_sibling[node])
            return tree->next_sibling[node];
    }
    return 0;
}

int dw_heap_graph_sum_types(const struct dw_heap_graph *graph, struct dw_heap_type_sums *sums)
{
    struct tree tree = {0};
    int error = tree_init(&tree, graph);
    memset(sums, 0, graph->type_count * sizeof *sums);
    dw_heap_node node = error ? 0 : tree.first_child[0];
    while (node) {
        add(graph, &tree, node, sums);
        node = tree.first_child[node] ? tree.first_child[node] : next_up(graph, &tree, node);
    }
    free(tree.first_child);
    free(tree.open);
    return error;
}

void dw_heap_graph_prepare(const struct dw_heap_graph *graph, dw_heap_node *parents)
{
    memset(parents, 0xff, graph->count * sizeof *parents);
    parents[0] = 0;
}

int dw_heap_graph_reach(const struct dw_heap_graph *graph, const dw_heap_node *starts,
                        uint32_t start_count, dw_heap_node *parents)
{
    uint32_t done = 0, found = 0;
    dw_heap_node *queue = malloc(graph->count * sizeof *queue);
    if (!queue)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < start_count; i++)
        if (parents[starts[i]] == DW_HEAP_NONE) {
            parents[starts[i]] = 0;
            queue[found++] = starts[i];
        }
    for (; done < found; done++)
        for (uint32_t i = graph->first[queue[done]]; i < graph->first[queue[done] + 1]; i++) {
            dw_heap_node target = graph->targets[i];
            if (parents[target] != DW_HEAP_NONE)
                continue;
            parents[target] = queue[done];
            queue[found++] = target;
        }
    free(queue);
    return 0;
}

/* Whether one retains about as much as what dominates it. */
static bool is_most_of(const struct dw_heap_graph *graph, dw_heap_node node, dw_heap_node above)
{
    return graph->retained[node] >= graph->retained[above] / 10 * 9;
}

/* By node: of those that it dominates the one that retains most; 0: none. */
static dw_heap_node *largest_below(const struct dw_heap_graph *graph)
{
    dw_heap_node *below = calloc(graph->count, sizeof *below);
    for (dw_heap_node i = 1; below && i < graph->count; i++) {
        dw_heap_node *of = &below[graph->dominators[i]];
        if (!*of || graph->retained[i] > graph->retained[*of])
            *of = i;
    }
    return below;
}

/* Whether it is in a list of linked objects. */
static bool is_linked(const struct dw_heap_graph *graph, const dw_heap_node *below,
                      dw_heap_node node)
{
    dw_heap_node next = below[node];
    return graph->types[next] == graph->types[node] && below[next] &&
           graph->types[below[next]] == graph->types[node];
}

/* Goes down to what retains nearly all of it, as from a module to its dictionary and on to what is
 * large in that, but not to the end of a list of linked objects. */
static dw_heap_node go_down(const struct dw_heap_graph *graph, const dw_heap_node *below,
                            dw_heap_node head)
{
    dw_heap_node at = head;
    for (uint32_t i = 0; i < PASSED_ON && below[at] && is_most_of(graph, below[at], head) &&
                         !is_linked(graph, below, at);
         i++)
        at = below[at];
    return at;
}

/* Keeps the list in order; the last one falls out when it is full. */
static uint32_t insert(const struct dw_heap_graph *graph, dw_heap_node *best, uint32_t count,
                       uint32_t limit, dw_heap_node node)
{
    if (count == limit && graph->retained[node] <= graph->retained[best[count - 1]])
        return count;
    uint32_t at = count < limit ? count++ : limit - 1;
    for (; at && graph->retained[best[at - 1]] < graph->retained[node]; at--)
        best[at] = best[at - 1];
    best[at] = node;
    return count;
}

uint32_t dw_heap_graph_find_largest_of(const struct dw_heap_graph *graph, const bool *is_wanted,
                                       uint32_t limit, dw_heap_node *best)
{
    uint32_t count = 0;
    for (dw_heap_node i = 1; limit && i < graph->count; i++)
        if (is_wanted[graph->types[i]])
            count = insert(graph, best, count, limit, i);
    return count;
}

uint32_t dw_heap_graph_find_largest_garbage(const struct dw_heap_graph *graph, uint32_t limit,
                                            dw_heap_node *best)
{
    uint32_t count = 0;
    for (dw_heap_node i = 1; limit && i < graph->count; i++)
        if (graph->is_garbage[i] && !graph->dominators[i])
            count = insert(graph, best, count, limit, i);
    return count;
}

int dw_heap_graph_find_largest(const struct dw_heap_graph *graph, dw_heap_node first,
                               uint32_t limit, dw_heap_node *best, uint32_t *count)
{
    dw_heap_node *below = largest_below(graph);
    if (!below)
        return DW_ERR_MEMORY;
    *count = 0;
    for (dw_heap_node i = first; limit && i < graph->count; i++)
        if (graph->dominators[i] < first || !is_most_of(graph, i, graph->dominators[i]))
            *count = insert(graph, best, *count, limit, go_down(graph, below, i));
    free(below);
    return 0;
}

enum { UNKNOWN, INSIDE, OUTSIDE };

/* Whether a node is dominated by one that is known to be inside, for all on the way to that. */
static void climb(const struct dw_heap_graph *graph, uint8_t *where, dw_heap_node node)
{
    dw_heap_node top = node;
    while (where[top] == UNKNOWN)
        top = graph->dominators[top];
    for (; where[node] == UNKNOWN; node = graph->dominators[node])
        where[node] = where[top];
}

/* From those that dominate nothing upwards. `open` has how many of those that a node dominates are
 * still to be added. */
static void sum_retained(struct dw_heap_graph *graph, uint32_t *open)
{
    for (dw_heap_node i = 1; i < graph->count; i++) {
        graph->retained[i] = graph->sizes[i];
        open[graph->dominators[i]]++;
    }
    for (dw_heap_node i = 1; i < graph->count; i++) {
        dw_heap_node node = i;
        while (node && !open[node]) {
            dw_heap_node above = graph->dominators[node];
            open[node] = UINT32_MAX; /* done */
            graph->retained[above] += above ? graph->retained[node] : 0;
            open[above]--;
            node = above;
        }
    }
}

int dw_heap_graph_leave_out(struct dw_heap_graph *graph, dw_heap_node node)
{
    uint8_t *where = calloc(graph->count, sizeof *where);
    uint32_t *open = calloc(graph->count, sizeof *open);
    int error = where && open ? 0 : DW_ERR_MEMORY;
    if (!error) {
        where[node] = INSIDE;
        where[0] = OUTSIDE;
        for (dw_heap_node i = 1; i < graph->count; i++) {
            climb(graph, where, i);
            graph->is_garbage[i] |= where[i] == INSIDE;
            graph->sizes[i] = graph->is_garbage[i] ? 0 : graph->sizes[i];
        }
        sum_retained(graph, open);
    }
    free(where);
    free(open);
    return error;
}
