/* SPDX-License-Identifier: MIT
 * Dominators by semi-dominators and nearest common ancestors (Georgiadis, "Linear-Time Algorithms
 * for Dominators and Related Problems"). All work is done on numbers in the order of a depth-first
 * walk, so that neighbours in the graph are neighbours in memory. */
#include "model/heap/heap_graph.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* By number, but for `numbers`, which is by node. */
struct walk {
    const struct dw_heap_graph *graph;
    uint32_t count;   /* nodes that have a number */
    uint32_t reached; /* from here on they are garbage, whose references hold nothing that lives */
    uint32_t *numbers;
    dw_heap_node *order;
    uint32_t *parents;   /* in the walk; at the end the dominators */
    uint32_t *semi;      /* 0 from the start for what node 0 holds */
    uint32_t *scratch;   /* the next reference of an open node; then a stack */
    uint32_t *ancestors; /* the parents, cut short */
    uint32_t *labels;    /* the smallest semi-dominator up to the ancestor */
    uint32_t *before_first, *before;
};

static int walk_init(struct walk *walk, const struct dw_heap_graph *graph)
{
    size_t count = graph->count;
    *walk = (struct walk){.graph = graph};
    walk->numbers = malloc(7 * count * sizeof(uint32_t));
    walk->before_first = calloc(count + 2, sizeof(uint32_t));
    walk->before = malloc(((size_t)graph->edge_count + 1) * sizeof(uint32_t));
    if (!walk->numbers || !walk->before_first || !walk->before)
        return DW_ERR_MEMORY;
    walk->order = walk->numbers + count;
    walk->parents = walk->order + count;
    walk->semi = walk->parents + count;
    walk->scratch = walk->semi + count;
    walk->ancestors = walk->scratch + count;
    walk->labels = walk->ancestors + count;
    memset(walk->numbers, 0xff, count * sizeof(uint32_t));
    walk->numbers[0] = walk->order[0] = walk->parents[0] = walk->semi[0] = 0;
    walk->count = 1;
    return 0;
}

static void walk_release(struct walk *walk)
{
    free(walk->numbers);
    free(walk->before_first);
    free(walk->before);
}

static uint32_t enter(struct walk *walk, dw_heap_node node, uint32_t parent)
{
    uint32_t number = walk->count++;
    walk->numbers[node] = number;
    walk->order[number] = node;
    walk->parents[number] = parent;
    walk->semi[number] = number;
    walk->scratch[number] = walk->graph->first[node];
    return number;
}

/* Gives numbers to all that a node reaches and that has none yet. */
static void walk_from(struct walk *walk, dw_heap_node start)
{
    const struct dw_heap_graph *graph = walk->graph;
    if (walk->numbers[start] != DW_HEAP_NONE)
        return;
    uint32_t at = enter(walk, start, 0);
    while (at) {
        if (walk->scratch[at] == graph->first[walk->order[at] + 1]) {
            at = walk->parents[at];
            continue;
        }
        dw_heap_node target = graph->targets[walk->scratch[at]++];
        if (walk->numbers[target] == DW_HEAP_NONE)
            at = enter(walk, target, at);
    }
}

/* From the roots first: what is left is garbage. */
static void walk_all(struct walk *walk, bool *is_garbage)
{
    const struct dw_heap_graph *graph = walk->graph;
    for (uint32_t i = 0; i < graph->root_count; i++)
        walk_from(walk, graph->roots[i]);
    walk->reached = walk->count;
    for (dw_heap_node i = 1; i < graph->count; i++) {
        if (walk->numbers[i] != DW_HEAP_NONE)
            continue;
        walk_from(walk, i);
        walk->semi[walk->numbers[i]] = 0;
    }
    for (uint32_t i = 0; i < graph->root_count; i++)
        walk->semi[walk->numbers[graph->roots[i]]] = 0;
    for (uint32_t i = 0; i < walk->count; i++)
        is_garbage[walk->order[i]] = i >= walk->reached;
}

/* The references of all nodes the other way round, by number. What node 0 holds needs none. */
static void turn_round(struct walk *walk)
{
    const struct dw_heap_graph *graph = walk->graph;
    uint32_t *first = walk->before_first;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        first[walk->numbers[graph->targets[i]] + 2]++;
    for (uint32_t i = 2; i < walk->count + 1; i++)
        first[i] += first[i - 1];
    for (uint32_t number = 0; number < walk->count; number++) {
        dw_heap_node node = walk->order[number];
        for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
            walk->before[first[walk->numbers[graph->targets[i]] + 1]++] = number;
    }
}

/* Makes the ancestor of a number one that is not above the limit. */
static void compress(struct walk *walk, uint32_t number, uint32_t limit)
{
    uint32_t depth = 0;
    for (; walk->ancestors[number] > limit; number = walk->ancestors[number])
        walk->scratch[depth++] = number;
    while (depth) {
        uint32_t below = walk->scratch[--depth];
        if (walk->labels[number] < walk->labels[below])
            walk->labels[below] = walk->labels[number];
        walk->ancestors[below] = walk->ancestors[number];
        number = below;
    }
}

static uint32_t semi_through(struct walk *walk, uint32_t before, uint32_t number)
{
    if (before <= number)
        return before;
    if (before >= walk->reached && number < walk->reached)
        return number;
    compress(walk, before, number);
    return walk->labels[before];
}

static void find_semi(struct walk *walk)
{
    memcpy(walk->ancestors, walk->parents, walk->count * sizeof(uint32_t));
    for (uint32_t number = walk->count; number-- > 1;) {
        uint32_t smallest = walk->semi[number];
        for (uint32_t i = walk->before_first[number];
             smallest && i < walk->before_first[number + 1]; i++) {
            uint32_t semi = semi_through(walk, walk->before[i], number);
            smallest = semi < smallest ? semi : smallest;
        }
        walk->semi[number] = walk->labels[number] = smallest;
    }
}

static void find_dominators(struct walk *walk)
{
    for (uint32_t number = 1; number < walk->count; number++) {
        uint32_t dominator = walk->parents[number];
        while (dominator > walk->semi[number])
            dominator = walk->parents[dominator];
        walk->parents[number] = dominator;
    }
}

static void fill(const struct walk *walk, struct dw_heap_graph *graph)
{
    for (uint32_t i = 0; i < walk->count; i++)
        graph->retained[i] = graph->sizes[i];
    graph->dominators[0] = 0;
    for (uint32_t number = walk->count; number-- > 1;) {
        dw_heap_node node = walk->order[number], dominator = walk->order[walk->parents[number]];
        graph->dominators[node] = dominator;
        graph->retained[dominator] += graph->retained[node];
    }
}

int dw_heap_graph_dominate(struct dw_heap_graph *graph)
{
    struct walk walk;
    if (graph->dominators)
        return 0;
    int error = walk_init(&walk, graph);
    dw_heap_node *dominators = malloc(graph->count * sizeof *dominators);
    uint64_t *retained = malloc(graph->count * sizeof *retained);
    bool *is_garbage = malloc(graph->count * sizeof *is_garbage);
    if (error || !dominators || !retained || !is_garbage) {
        free(dominators), free(retained), free(is_garbage);
        walk_release(&walk);
        return DW_ERR_MEMORY;
    }
    graph->dominators = dominators;
    graph->retained = retained;
    graph->is_garbage = is_garbage;
    walk_all(&walk, is_garbage);
    turn_round(&walk);
    find_semi(&walk);
    find_dominators(&walk);
    fill(&walk, graph);
    walk_release(&walk);
    return 0;
}
