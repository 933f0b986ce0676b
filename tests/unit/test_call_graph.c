/* SPDX-License-Identifier: MIT
 * pstats' numbers from call paths: recursion of every shape, and very deep. */
#include "check.h"

#include "base/error.h"
#include "model/call_graph.h"

#include <stdlib.h>

enum { F, G, H, FUNCTIONS };

/* The total of an item is its self and that of those under it. */
static void add_totals(struct dw_call_item *items, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        items[i].total += items[i].self;
        if (i)
            items[items[i].parent].total += items[i].total;
    }
}

static struct dw_call_graph build(struct dw_call_item *items, uint32_t count)
{
    struct dw_call_graph graph;
    add_totals(items, count);
    assert_int_equal(dw_call_graph_init(&graph, FUNCTIONS), 0);
    assert_int_equal(dw_call_graph_add(&graph, items, count), 0);
    return graph;
}

static void check(const struct dw_call_sums *sums, uint64_t count, uint64_t primitive,
                  uint64_t self, uint64_t total)
{
    assert_int_equal(sums->count, count);
    assert_int_equal(sums->primitive, primitive);
    assert_int_equal(sums->self, self);
    assert_int_equal(sums->total, total);
}

static const struct dw_call_sums *edge(const struct dw_call_graph *graph, uint32_t caller,
                                       uint32_t callee)
{
    for (uint32_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].caller == caller && graph->edges[i].callee == callee)
            return &graph->edges[i].sums;
    fail_msg("no edge from %u to %u", caller, callee);
    return NULL;
}

/* f calls g 3 times and h once; h calls g twice. */
static void test_simple(void **state)
{
    (void)state;
    struct dw_call_item items[] = {
        {0}, {0, F, 1, 0, 10}, {1, G, 3, 0, 6}, {1, H, 1, 0, 5}, {3, G, 2, 0, 4}};
    struct dw_call_graph graph = build(items, COUNT_OF(items));
    check(&graph.functions[F], 1, 1, 10, 25);
    check(&graph.functions[G], 5, 5, 10, 10);
    check(&graph.functions[H], 1, 1, 5, 9);
    assert_int_equal(graph.edge_count, 3);
    check(edge(&graph, F, G), 3, 3, 6, 6);
    check(edge(&graph, F, H), 1, 1, 5, 9);
    check(edge(&graph, H, G), 2, 2, 4, 4);
    dw_call_graph_release(&graph);
}

/* f calls itself twice over: its time counts once. */
static void test_recursion(void **state)
{
    (void)state;
    struct dw_call_item items[] = {{0}, {0, F, 1, 0, 1}, {1, F, 2, 0, 2}, {2, F, 4, 0, 4}};
    struct dw_call_graph graph = build(items, COUNT_OF(items));
    check(&graph.functions[F], 7, 1, 7, 7);
    assert_int_equal(graph.edge_count, 1);
    check(edge(&graph, F, F), 6, 2, 6, 6);
    dw_call_graph_release(&graph);
}

/* f, g, f, g: each is inside itself, and so is the call of g by f. */
static void test_mutual_recursion(void **state)
{
    (void)state;
    struct dw_call_item items[] = {
        {0}, {0, F, 1, 0, 1}, {1, G, 2, 0, 2}, {2, F, 4, 0, 4}, {3, G, 8, 0, 8}};
    struct dw_call_graph graph = build(items, COUNT_OF(items));
    check(&graph.functions[F], 5, 1, 5, 15);
    check(&graph.functions[G], 10, 2, 10, 14);
    check(edge(&graph, F, G), 10, 2, 10, 14);
    check(edge(&graph, G, F), 4, 4, 4, 12);
    dw_call_graph_release(&graph);
}

/* The same edge inside itself with another function between, and beside itself. */
static void test_same_edge_nested(void **state)
{
    (void)state;
    struct dw_call_item items[] = {{0},
                                   {0, F, 1, 0, 1},
                                   {1, G, 1, 0, 1},
                                   {2, H, 1, 0, 1},
                                   {3, F, 1, 0, 1},
                                   {4, G, 1, 0, 1},
                                   {0, F, 1, 0, 1},
                                   {6, G, 1, 0, 1}};
    struct dw_call_graph graph = build(items, COUNT_OF(items));
    check(&graph.functions[F], 3, 2, 3, 7);
    check(&graph.functions[G], 3, 2, 3, 5);
    check(edge(&graph, F, G), 3, 2, 3, 5);
    check(edge(&graph, G, H), 1, 1, 1, 3);
    check(edge(&graph, H, F), 1, 1, 1, 2);
    dw_call_graph_release(&graph);
}

static void test_threads_add_up(void **state)
{
    (void)state;
    struct dw_call_item items[] = {{0}, {0, F, 1, 0, 1}, {1, G, 2, 0, 2}};
    struct dw_call_item others[] = {{0}, {0, G, 5, 0, 5}, {1, F, 1, 0, 1}};
    struct dw_call_graph graph = build(items, COUNT_OF(items));
    add_totals(others, COUNT_OF(others));
    assert_int_equal(dw_call_graph_add(&graph, others, COUNT_OF(others)), 0);
    check(&graph.functions[F], 2, 2, 2, 4);
    check(&graph.functions[G], 7, 7, 7, 8);
    assert_int_equal(graph.edge_count, 2);
    assert_int_equal(dw_call_graph_add(&graph, NULL, 0), DW_ERR_ARGUMENT);
    dw_call_graph_release(&graph);
}

/* f, g, f, g, ... 100,000 deep. */
static void test_deep_chain(void **state)
{
    (void)state;
    const uint32_t depth = 100000;
    struct dw_call_item *items = calloc(depth + 1, sizeof *items);
    for (uint32_t i = 1; i <= depth; i++)
        items[i] = (struct dw_call_item){i - 1, i % 2 ? F : G, 1, 0, 1};
    struct dw_call_graph graph = build(items, depth + 1);
    check(&graph.functions[F], depth / 2, 1, depth / 2, depth);
    check(&graph.functions[G], depth / 2, 1, depth / 2, depth - 1);
    check(edge(&graph, F, G), depth / 2, 1, depth / 2, depth - 1);
    check(edge(&graph, G, F), depth / 2 - 1, 1, depth / 2 - 1, depth - 2);
    dw_call_graph_release(&graph);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),           cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_mutual_recursion), cmocka_unit_test(test_same_edge_nested),
        cmocka_unit_test(test_threads_add_up),   cmocka_unit_test(test_deep_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
