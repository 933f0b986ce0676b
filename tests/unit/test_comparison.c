/* SPDX-License-Identifier: MIT
 * Ratios and their sentences. */
#include "check.h"

#include "base/comparison.h"

#include <math.h>
#include <stdlib.h>

static char *sentence(const struct dw_comparison *comparison)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_comparison_put(&out, comparison, "A", "B");
    char *text = strndup((const char *)out.buffer.data, out.buffer.size);
    dw_out_close(&out);
    return text;
}

static void check_sentence(const struct dw_comparison *comparison, const char *expected)
{
    char *text = sentence(comparison);
    assert_string_equal(text, expected);
    free(text);
}

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        double ratio, low, high;
        const char *text;
    } cases[] = {
        {1 / 1.32, 1 / 1.35, 1 / 1.29, "B is 1.32x faster than A (95 % CI 1.29–1.35)"},
        {1.32, 1.29, 1.35, "B is 1.32x slower than A (95 % CI 1.29–1.35)"},
        {1.031, 1.027, 1.035, "B is 1.031x slower than A (95 % CI 1.027–1.035)"},
        {1.0041, 1.0022, 1.0061, "B is 1.0041x slower than A (95 % CI 1.0022–1.0061)"},
        {1.00006, 1.00004, 1.00008, "B is 1.000060x slower than A (95 % CI 1.000040–1.000080)"},
        {12.34, 11.28, 13.46, "B is 12.3x slower than A (95 % CI 11.3–13.5)"},
        {512.3, 500.1, 520.9, "B is 512x slower than A (95 % CI 500–521)"},
        {1.001, 0.99, 1.012,
         "no difference larger than 1.2 % could be seen between A and B (95 % CI)"},
        {1.0, 0.5, 1.1, "no difference larger than 100 % could be seen between A and B (95 % CI)"},
        {1.0, 0.9999, 1.0023,
         "no difference larger than 0.23 % could be seen between A and B (95 % CI)"},
        {1.2, 0, INFINITY, "too few runs to tell B from A: 4 of each, and 6 are needed"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_comparison comparison = {.ratio = cases[i].ratio,
                                           .interval = {cases[i].low, cases[i].high},
                                           .confidence = 0.95,
                                           .units = {4, 4},
                                           .is_paired = true};
        check_sentence(&comparison, cases[i].text);
    }
}

static void test_too_few_of_what(void **state)
{
    (void)state;
    static const struct {
        size_t units[2];
        bool has_processes[2], is_paired;
        const char *text;
    } cases[] = {
        {{3, 3},
         {true, true},
         true,
         "too few processes to tell B from A: 3 of each, and 6 are needed"},
        {{3, 10},
         {false, false},
         false,
         "too few runs to tell B from A: 3 and 10, and 6 of each are needed; not measured side by "
         "side"},
        {{7, 3},
         {false, true},
         false,
         "too few runs or processes to tell B from A: 7 and 3, and 6 of each are needed; not "
         "measured side by side"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_comparison comparison = {.ratio = 1,
                                           .interval = {0, INFINITY},
                                           .confidence = 0.95,
                                           .is_paired = cases[i].is_paired};
        memcpy(comparison.units, cases[i].units, sizeof comparison.units);
        memcpy(comparison.has_processes, cases[i].has_processes, sizeof comparison.has_processes);
        check_sentence(&comparison, cases[i].text);
    }
}

static struct dw_comparison compare(const double *a, const double *b, size_t count, size_t group,
                                    bool is_paired)
{
    struct dw_comparison comparison;
    struct dw_runs of_a = {a, count, group}, of_b = {b, count, group};
    assert_int_equal(dw_comparison_make(&of_a, &of_b, is_paired, 0.95, &comparison), 0);
    return comparison;
}

/* Measurements with noise, and twice as long at the end as at the beginning. */
static void drifting(double *a, double *b, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++) {
        double drift = 1 + (double)i / (double)count;
        a[i] = 100 * drift * (1 + (double)(i * 7 % 11) / 1000);
        b[i] = 100 * drift * (1 + (double)(i * 5 % 11) / 1000) * factor;
    }
}

static void test_drift_is_taken_out_of_pairs_only(void **state)
{
    (void)state;
    double a[40], b[40];
    drifting(a, b, 40, 1.05);
    struct dw_comparison paired = compare(a, b, 40, 1, true);
    assert_int_equal(dw_comparison_verdict(&paired), DW_VERDICT_SLOWER);
    assert_true(fabs(paired.ratio - 1.05) < 0.005);
    struct dw_comparison apart = compare(a, b, 40, 1, false);
    assert_int_equal(dw_comparison_verdict(&apart), DW_VERDICT_SAME);
}

static void test_exchanged_is_reciprocal(void **state)
{
    (void)state;
    double a[40], b[40];
    drifting(a, b, 40, 1.3);
    for (int is_paired = 0; is_paired < 2; is_paired++) {
        struct dw_comparison forth = compare(a, b, 40, 1, is_paired);
        struct dw_comparison back = compare(b, a, 40, 1, is_paired);
        assert_true(fabs(forth.ratio * back.ratio - 1) < 1e-12);
        assert_true(fabs(forth.interval.low * back.interval.high - 1) < 1e-12);
        assert_true(fabs(forth.interval.high * back.interval.low - 1) < 1e-12);
        assert_true(fabs(forth.p - back.p) < 1e-12);
        assert_true(fabs(forth.delta + back.delta) < 1e-12);
    }
}

static void test_few_runs_give_no_verdict(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {11, 12, 13, 14, 15, 16};
    for (int is_paired = 0; is_paired < 2; is_paired++) {
        struct dw_comparison five = compare(a, b, 5, 1, is_paired);
        struct dw_comparison six = compare(a, b, 6, 1, is_paired);
        assert_int_equal(dw_comparison_verdict(&five), DW_VERDICT_UNKNOWN);
        assert_int_equal(dw_comparison_verdict(&six), DW_VERDICT_SLOWER);
    }
}

/* Runs of one process are one unit: more of them make nothing surer. */
static void test_groups_are_units(void **state)
{
    (void)state;
    double a[60], b[60];
    for (size_t i = 0; i < 60; i++) {
        a[i] = 100 + (double)(i / 10 * 7 % 6); /* six processes, each with its own luck */
        b[i] = 100 + (double)(i / 10 * 5 % 6);
    }
    struct dw_comparison grouped = compare(a, b, 60, 10, true);
    assert_int_equal(grouped.units[0], 6);
    assert_int_equal(dw_comparison_verdict(&grouped), DW_VERDICT_SAME);
    struct dw_comparison single = compare(a, b, 60, 1, true);
    assert_int_equal(single.units[1], 60);
    assert_true(single.interval.high - single.interval.low <
                grouped.interval.high - grouped.interval.low);
}

static void test_times_of_zero(void **state)
{
    (void)state;
    const double a[] = {1, 1, 2, 1, 1, 2, 3}, b[] = {0, 1, 0, 2, 0, 0, 3};
    struct dw_comparison forth = compare(a, b, 7, 1, true), back = compare(b, a, 7, 1, true);
    struct dw_comparison both = compare(b, b, 7, 1, true);
    check_sentence(&forth, "B is too short to be compared: a run took 0 ns");
    check_sentence(&back, "A is too short to be compared: a run took 0 ns");
    check_sentence(&both, "A and B are too short to be compared: runs took 0 ns");
    assert_int_equal(dw_comparison_verdict(&forth), DW_VERDICT_UNKNOWN);
    assert_true(isnan(forth.ratio));
}

/* The chance and the interval are of one test. */
static void test_p_agrees_with_the_verdict(void **state)
{
    (void)state;
    double a[60], b[60];
    size_t seen[2] = {0};
    for (size_t count = 6; count <= 60; count++)
        for (size_t shift = 0; shift < 20; shift++) {
            for (size_t i = 0; i < count; i++) {
                a[i] = 100;
                b[i] = 99 + (double)(i * 7 % 11) / 5 + (double)shift / 20;
            }
            struct dw_comparison found = compare(a, b, count, 1, true);
            bool is_seen = dw_comparison_verdict(&found) != DW_VERDICT_SAME;
            assert_int_equal(found.p <= 0.05, is_seen);
            seen[is_seen]++;
        }
    assert_true(seen[0] > 100 && seen[1] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_drift_is_taken_out_of_pairs_only),
        cmocka_unit_test(test_exchanged_is_reciprocal),
        cmocka_unit_test(test_few_runs_give_no_verdict),
        cmocka_unit_test(test_groups_are_units),
        cmocka_unit_test(test_times_of_zero),
        cmocka_unit_test(test_too_few_of_what),
        cmocka_unit_test(test_p_agrees_with_the_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
