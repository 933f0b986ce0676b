/* SPDX-License-Identifier: MIT
 * Dominators, retained sizes, sums by type and shortest ways of random graphs, against the plain
 * meaning of the words: one dominates another when nothing leads there without it. */
#include "check.h"

#include "base/address_map.h"
#include "base/error.h"
#include "model/heap/heap_graph.h"

#include <stdlib.h>
#include <string.h>

#define MOST 24
#define TYPES 3

static uint32_t chance(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static struct dw_heap_graph graph_of(uint32_t count, uint32_t edge_count, uint32_t root_count)
{
    struct dw_heap_graph graph = {
        .count = count, .edge_count = edge_count, .root_count = root_count, .type_count = TYPES};
    graph.first = calloc(count + 1u, sizeof *graph.first);
    graph.targets = calloc(edge_count + 1u, sizeof *graph.targets);
    graph.roots = calloc(root_count + 1u, sizeof *graph.roots);
    graph.types = calloc(count, sizeof *graph.types);
    graph.sizes = calloc(count, sizeof *graph.sizes);
    return graph;
}

/* Some nodes refer to a few others, to themselves and twice to the same among them. */
static struct dw_heap_graph random_graph(void)
{
    uint32_t count = 2 + chance(MOST - 1), edge_count = chance(2 * count);
    struct dw_heap_graph graph = graph_of(count, edge_count, 1 + chance(3));
    for (uint32_t i = 0; i < edge_count; i++) {
        graph.targets[i] = 1 + chance(count - 1);
        graph.first[1 + chance(count - 1) + 1]++;
    }
    for (uint32_t i = 1; i <= count; i++)
        graph.first[i] += graph.first[i - 1];
    for (uint32_t i = 0; i < graph.root_count; i++)
        graph.roots[i] = 1 + chance(count - 1);
    for (uint32_t i = 1; i < count; i++) {
        graph.types[i] = chance(TYPES);
        graph.sizes[i] = 1 + chance(100);
    }
    return graph;
}

static void mark_from(const struct dw_heap_graph *graph, dw_heap_node node, dw_heap_node without,
                      bool *is_reached)
{
    if (node == without || is_reached[node])
        return;
    is_reached[node] = true;
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
        mark_from(graph, graph->targets[i], without, is_reached);
}

static void mark(const struct dw_heap_graph *graph, dw_heap_node without, bool *is_reached)
{
    memset(is_reached, 0, MOST * sizeof *is_reached);
    for (uint32_t i = 0; i < graph->root_count; i++)
        mark_from(graph, graph->roots[i], without, is_reached);
}

/* Whether the dominators lead up from one node to another. */
static bool is_over(const struct dw_heap_graph *graph, dw_heap_node above, dw_heap_node node)
{
    while (node && node != above)
        node = graph->dominators[node];
    return node == above;
}

static void check_node(const struct dw_heap_graph *graph, const bool *lives, dw_heap_node node)
{
    bool without[MOST];
    uint64_t retained = 0;
    mark(graph, node, without);
    for (dw_heap_node i = 1; i < graph->count; i++) {
        if (!lives[i])
            continue;
        assert_int_equal(is_over(graph, node, i), !without[i]);
        retained += without[i] ? 0 : graph->sizes[i];
    }
    assert_int_equal(graph->retained[node], retained);
}

static void check_types(const struct dw_heap_graph *graph)
{
    struct dw_heap_type_sums sums[TYPES], expected[TYPES] = {0};
    assert_int_equal(dw_heap_graph_sum_types(graph, sums), 0);
    for (dw_heap_node i = 1; i < graph->count; i++) {
        bool is_outermost = true;
        for (dw_heap_node up = graph->dominators[i]; up; up = graph->dominators[up])
            is_outermost = is_outermost && graph->types[up] != graph->types[i];
        struct dw_heap_type_sums *sum = &expected[graph->types[i]];
        sum->count++;
        sum->size += graph->sizes[i];
        sum->retained += is_outermost ? graph->retained[i] : 0;
    }
    assert_memory_equal(sums, expected, sizeof sums);
}

static void test_random_graphs(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct dw_heap_graph graph = random_graph();
        bool lives[MOST];
        uint64_t total = 0;
        mark(&graph, 0, lives);
        assert_int_equal(dw_heap_graph_dominate(&graph), 0);
        for (dw_heap_node i = 1; i < graph.count; i++) {
            total += graph.sizes[i];
            assert_int_equal(graph.is_garbage[i], !lives[i]);
            if (lives[i])
                check_node(&graph, lives, i);
        }
        assert_int_equal(graph.retained[0], total);
        check_types(&graph);
        dw_heap_graph_release(&graph);
    }
}

/* The distances of the ways, by going round until none gets shorter. */
static void test_ways_are_shortest(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        struct dw_heap_graph graph = random_graph();
        uint32_t distance[MOST], parents[MOST];
        memset(distance, 0x3f, sizeof distance);
        for (uint32_t i = 0; i < graph.root_count; i++)
            distance[graph.roots[i]] = 1;
        for (uint32_t turn = 0; turn < graph.count; turn++)
            for (dw_heap_node node = 1; node < graph.count; node++)
                for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; i++)
                    if (distance[graph.targets[i]] > distance[node] + 1)
                        distance[graph.targets[i]] = distance[node] + 1;
        dw_heap_graph_prepare(&graph, parents);
        assert_int_equal(dw_heap_graph_reach(&graph, graph.roots, graph.root_count, parents), 0);
        for (dw_heap_node node = 1; node < graph.count; node++) {
            uint32_t length = 1;
            assert_int_equal(parents[node] == DW_HEAP_NONE, distance[node] > MOST);
            for (dw_heap_node at = node; distance[node] <= MOST && parents[at]; at = parents[at])
                length++;
            assert_true(distance[node] > MOST || length == distance[node]);
        }
        dw_heap_graph_release(&graph);
    }
}

/* A chain whose last refers to the first again; each also to a shared one. */
static void test_long_chain(void **state)
{
    (void)state;
    enum { LENGTH = 1000000 };
    struct dw_heap_graph graph = graph_of(LENGTH + 2, 2 * LENGTH, 1);
    struct dw_heap_type_sums sums[TYPES];
    for (uint32_t i = 1; i <= LENGTH; i++) {
        graph.first[i] = 2 * (i - 1);
        graph.targets[2 * (i - 1)] = i < LENGTH ? i + 1 : 1;
        graph.targets[2 * (i - 1) + 1] = LENGTH + 1;
        graph.sizes[i] = 10;
    }
    graph.first[LENGTH + 1] = graph.first[LENGTH + 2] = 2 * LENGTH;
    graph.sizes[LENGTH + 1] = 7;
    graph.roots[0] = 1;
    assert_int_equal(dw_heap_graph_dominate(&graph), 0);
    assert_int_equal(graph.dominators[LENGTH], LENGTH - 1);
    assert_int_equal(graph.dominators[LENGTH + 1], 1);
    assert_int_equal(graph.retained[1], 10 * LENGTH + 7);
    assert_int_equal(graph.retained[LENGTH / 2], 10 * (LENGTH / 2 + 1));
    assert_int_equal(dw_heap_graph_sum_types(&graph, sums), 0);
    assert_int_equal(sums[0].retained, 10 * LENGTH + 7);
    dw_heap_graph_release(&graph);
}

/* Garbage that refers to something that lives takes nothing from what holds that. */
static void test_garbage_holds_nothing_that_lives(void **state)
{
    (void)state;
    struct dw_heap_graph graph = graph_of(5, 4, 1);
    memcpy(graph.first, (uint32_t[]){0, 0, 1, 1, 3, 4}, 6 * sizeof(uint32_t));
    memcpy(graph.targets, (uint32_t[]){2, 4, 2, 3}, 4 * sizeof(uint32_t));
    graph.roots[0] = 1;
    memcpy(graph.sizes, (uint64_t[]){0, 1, 10, 100, 1000}, 5 * sizeof(uint64_t));
    assert_int_equal(dw_heap_graph_dominate(&graph), 0);
    assert_int_equal(graph.retained[1], 11);
    assert_int_equal(graph.dominators[2], 1);
    assert_int_equal(graph.retained[3], 1100);
    assert_true(graph.is_garbage[3] && graph.is_garbage[4] && !graph.is_garbage[2]);
    dw_heap_graph_release(&graph);
}

/* 1 passes all on to 2, which holds 3 and 4. */
static void test_largest_are_those_that_hold_it_themselves(void **state)
{
    (void)state;
    struct dw_heap_graph graph = graph_of(5, 3, 1);
    dw_heap_node best[3];
    uint32_t count;
    memcpy(graph.first, (uint32_t[]){0, 0, 1, 3, 3, 3}, 6 * sizeof(uint32_t));
    memcpy(graph.targets, (uint32_t[]){2, 3, 4}, 3 * sizeof(uint32_t));
    graph.roots[0] = 1;
    memcpy(graph.sizes, (uint64_t[]){0, 10, 10, 500, 600}, 5 * sizeof(uint64_t));
    memcpy(graph.types, (uint32_t[]){0, 0, 1, 2, 2}, 5 * sizeof(uint32_t));
    assert_int_equal(dw_heap_graph_dominate(&graph), 0);
    assert_int_equal(dw_heap_graph_find_largest(&graph, 1, 3, best, &count), 0);
    assert_int_equal(count, 3);
    assert_memory_equal(best, ((dw_heap_node[]){2, 4, 3}), sizeof best);
    assert_int_equal(dw_heap_graph_find_largest(&graph, 1, 1, best, &count), 0);
    assert_true(count == 1 && best[0] == 2);
    dw_heap_graph_release(&graph);
}

/* 1 is a variable that holds a list of linked objects, 2 to 5: its head is told. */
static void test_largest_of_linked_objects_is_the_first(void **state)
{
    (void)state;
    struct dw_heap_graph graph = graph_of(6, 4, 1);
    dw_heap_node best[2];
    uint32_t count;
    memcpy(graph.first, (uint32_t[]){0, 0, 1, 2, 3, 4, 4}, 7 * sizeof(uint32_t));
    memcpy(graph.targets, (uint32_t[]){2, 3, 4, 5}, 4 * sizeof(uint32_t));
    graph.roots[0] = 1;
    memcpy(graph.sizes, (uint64_t[]){0, 1, 5, 5, 5, 900}, 6 * sizeof(uint64_t));
    memcpy(graph.types, (uint32_t[]){0, 0, 1, 1, 1, 1}, 6 * sizeof(uint32_t));
    assert_int_equal(dw_heap_graph_dominate(&graph), 0);
    assert_int_equal(dw_heap_graph_find_largest(&graph, 1, 2, best, &count), 0);
    assert_true(count == 1 && best[0] == 2);
    dw_heap_graph_release(&graph);
}

static uint64_t left_under(const struct dw_heap_graph *graph, dw_heap_node node)
{
    uint64_t sum = 0;
    for (dw_heap_node i = 1; i < graph->count; i++)
        sum += is_over(graph, node, i) ? graph->sizes[i] : 0;
    return sum;
}

static void test_what_is_left_out_counts_for_nothing(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct dw_heap_graph graph = random_graph();
        bool was_garbage[MOST];
        uint64_t sizes[MOST];
        assert_int_equal(dw_heap_graph_dominate(&graph), 0);
        memcpy(was_garbage, graph.is_garbage, graph.count * sizeof *was_garbage);
        memcpy(sizes, graph.sizes, graph.count * sizeof *sizes);
        dw_heap_node node = chance(graph.count); /* 0: garbage only */
        assert_int_equal(dw_heap_graph_leave_out(&graph, node), 0);
        for (dw_heap_node i = 1; i < graph.count; i++) {
            bool is_out = was_garbage[i] || (node && is_over(&graph, node, i));
            assert_int_equal(graph.is_garbage[i], is_out);
            assert_int_equal(graph.sizes[i], is_out ? 0 : sizes[i]);
            assert_int_equal(graph.retained[i], left_under(&graph, i));
        }
        dw_heap_graph_release(&graph);
    }
}

static void test_addresses_have_their_numbers(void **state)
{
    (void)state;
    struct dw_address_map map = {0};
    for (uint32_t i = 1; i < 100000; i++)
        *dw_address_map_at(&map, (uintptr_t)i * 24) = i;
    *dw_address_map_at(&map, (uintptr_t)1 << 46) = 5;
    for (uint32_t i = 1; i < 100000; i++) {
        assert_int_equal(dw_address_map_find(&map, (uintptr_t)i * 24), i);
        assert_int_equal(dw_address_map_find(&map, (uintptr_t)i * 24 + 8), 0);
    }
    assert_int_equal(dw_address_map_find(&map, (uintptr_t)1 << 46), 5);
    assert_int_equal(dw_address_map_find(&map, (uintptr_t)1 << 45), 0);
    dw_address_map_release(&map);
    assert_int_equal(dw_address_map_find(&map, 24), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_ways_are_shortest),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_garbage_holds_nothing_that_lives),
        cmocka_unit_test(test_largest_are_those_that_hold_it_themselves),
        cmocka_unit_test(test_largest_of_linked_objects_is_the_first),
        cmocka_unit_test(test_what_is_left_out_counts_for_nothing),
        cmocka_unit_test(test_addresses_have_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
