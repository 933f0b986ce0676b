/* SPDX-License-Identifier: MIT
 * Against values worked out by hand or found in tables of the tests. */
#include "check.h"

#include "base/bootstrap.h"
#include "base/rank_test.h"
#include "base/statistics.h"

#include <math.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not %.12g", value, expected);
}

static struct dw_summary summarize(const double *values, size_t count)
{
    struct dw_summary summary;
    assert_int_equal(dw_stat_summarize(values, count, 0.95, &summary), 0);
    return summary;
}

static void test_summary_of_known_values(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct dw_summary summary = summarize(values, COUNT_OF(values));
    assert_near(summary.mean, 5, 1e-12);
    assert_near(summary.stdev, 2, 1e-12);
    assert_near(summary.median, 4.5, 1e-12);
    assert_near(summary.q1, 4, 1e-12);
    assert_near(summary.q3, 5.5, 1e-12);
    assert_near(summary.mad, 0.5, 1e-12);
    assert_near(summary.min, 2, 0);
    assert_near(summary.max, 9, 0);
    assert_int_equal(summary.outliers, 0);
}

static void test_one_value(void **state)
{
    (void)state;
    const double value = 3;
    struct dw_summary summary = summarize(&value, 1);
    assert_near(summary.median, 3, 0);
    assert_near(summary.stdev, 0, 0);
    assert_near(summary.median_interval.high, 3, 0);
    assert_near(summary.trend_p, 1, 0);
    assert_false(summary.is_bounded);
    assert_false(summary.is_bimodal);
}

/* The classical table: of 20 sorted values the 6th and the 15th, of 6 the first and the last. */
static void test_interval_of_the_median(void **state)
{
    (void)state;
    double values[20];
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (double)(i * 7 % 20 + 1);
    struct dw_summary summary = summarize(values, 20);
    assert_true(summary.is_bounded);
    assert_near(summary.median_interval.low, 6, 0);
    assert_near(summary.median_interval.high, 15, 0);
    assert_near(summary.interval_confidence, 1 - 2 * 21700.0 / 1048576, 1e-12);
    const double few[] = {3, 1, 2, 6, 5, 4};
    assert_true(summarize(few, 6).is_bounded);
    assert_near(summarize(few, 6).median_interval.low, 1, 0);
    assert_near(summarize(few, 6).interval_confidence, 1 - 2.0 / 64, 1e-12);
    assert_false(summarize(few, 5).is_bounded);
}

static void test_outliers_are_beyond_fifteen_deviations(void **state)
{
    (void)state;
    double values[] = {99, 100, 101, 99, 100, 101, 99, 100, 101, 114.7};
    assert_int_equal(summarize(values, COUNT_OF(values)).outliers, 0);
    values[9] = 115.4;
    assert_int_equal(summarize(values, COUNT_OF(values)).outliers, 1);
    values[0] = 50;
    assert_int_equal(summarize(values, COUNT_OF(values)).outliers, 2);
}

static void test_trend(void **state)
{
    (void)state;
    double rising[10], still[10];
    for (size_t i = 0; i < COUNT_OF(rising); i++) {
        rising[i] = 100 + (double)i;
        still[i] = 100 + (double)(i * 7 % 10);
    }
    /* All 45 pairs rise: z = 44 / sqrt(125). */
    assert_near(summarize(rising, 10).trend_p, erfc(44 / sqrt(125) / sqrt(2)), 1e-12);
    assert_near(summarize(rising, 10).trend, 108.0 / 101 - 1, 1e-12);
    assert_true(summarize(still, 10).trend_p > 0.2);
}

static void test_long_series_are_summarized_too(void **state)
{
    (void)state;
    static double values[100000];
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = 100 + (double)i / COUNT_OF(values) + (double)(i * 31 % 97);
    struct dw_summary summary = summarize(values, COUNT_OF(values));
    assert_true(summary.trend_p < 1e-6);
    assert_true(summary.median_interval.low < summary.median);
    assert_true(summary.median_interval.high > summary.median);
}

static void test_two_groups_are_seen(void **state)
{
    (void)state;
    double values[20];
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (i % 3 ? 100 : 120) + (double)(i * 7 % 5);
    assert_true(summarize(values, COUNT_OF(values)).is_bimodal);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = 100 + (double)i;
    assert_false(summarize(values, COUNT_OF(values)).is_bimodal);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = 100;
    assert_false(summarize(values, COUNT_OF(values)).is_bimodal);
}

static void test_normal_distribution(void **state)
{
    (void)state;
    assert_near(dw_stat_normal_width(0.95), 1.959963984540054, 1e-9);
    assert_near(dw_stat_normal_width(0.99), 2.5758293035489004, 1e-9);
    assert_near(dw_stat_normal_tails(-1.959963984540054), 0.05, 1e-12);
}

static struct dw_rank_test rank_test(const double *a, size_t a_count, const double *b,
                                     size_t b_count)
{
    struct dw_rank_test test;
    assert_int_equal(dw_stat_rank_test(a, a_count, b, b_count, &test), 0);
    return test;
}

static void test_rank_test(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10}, c[] = {1, 2, 2, 3, 5};
    assert_near(rank_test(a, 5, b, 5).p, 2.0 / 252, 1e-12);
    assert_near(rank_test(a, 5, b, 5).delta, 1, 0);
    assert_near(rank_test(b, 5, a, 5).delta, -1, 0);
    assert_near(rank_test(b, 5, a, 5).p, 2.0 / 252, 1e-12);
    assert_near(rank_test(a, 1, b, 1).p, 1, 0);
    assert_near(rank_test(c, 5, c, 5).p, 1, 0);
    assert_near(rank_test(c, 5, c, 5).delta, 0, 0);
    const double equal[] = {4, 4, 4};
    assert_near(rank_test(equal, 3, equal, 3).p, 1, 0);
}

/* Of 10 differences the 9th smallest and the 9th largest mean of a pair: the table's critical
 * value is 8. Of 5 there is no interval at 95 %. */
static void test_centre_of_differences(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    double means[55];
    size_t made = 0;
    for (size_t i = 0; i < 10; i++)
        for (size_t j = i; j < 10; j++)
            means[made++] = (values[i] + values[j]) / 2;
    dw_stat_sort(means, made);
    struct dw_estimate estimate;
    double p;
    assert_int_equal(dw_stat_centre(values, 10, 0.95, &estimate, &p), 0);
    assert_near(estimate.value, means[27], 0);
    assert_near(estimate.interval.low, means[8], 0);
    assert_near(estimate.interval.high, means[46], 0);
    assert_int_equal(dw_stat_centre(values, 6, 0.95, &estimate, &p), 0);
    assert_near(estimate.interval.low, 1, 0);
    assert_near(estimate.interval.high, 32, 0);
    assert_int_equal(dw_stat_centre(values, 5, 0.95, &estimate, &p), 0);
    assert_true(isinf(estimate.interval.low) && isinf(estimate.interval.high));
}

/* Where the exact distribution ends and the normal one begins nothing jumps. */
static void test_many_differences(void **state)
{
    (void)state;
    double values[60], widths[2];
    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (double)(i * 37 % 60) / 60;
    for (size_t i = 0; i < 2; i++) {
        struct dw_estimate estimate;
        double p;
        assert_int_equal(dw_stat_centre(values, 50 + i, 0.95, &estimate, &p), 0);
        widths[i] = estimate.interval.high - estimate.interval.low;
    }
    assert_near(widths[1] / widths[0], 1, 0.05);
}

static void test_bootstrap_turns_around(void **state)
{
    (void)state;
    const double a[] = {10, 11, 12, 13, 14, 15, 16, 17}, b[] = {20, 21, 22, 23, 24, 25, 26};
    struct dw_estimate forth, back, again;
    assert_int_equal(dw_stat_median_shift(a, 8, b, 7, 0.95, 1, &forth), 0);
    assert_int_equal(dw_stat_median_shift(b, 7, a, 8, 0.95, 1, &back), 0);
    assert_int_equal(dw_stat_median_shift(a, 8, b, 7, 0.95, 1, &again), 0);
    assert_near(forth.value, 23 - 13.5, 1e-12);
    assert_true(forth.interval.low > 4 && forth.interval.low < forth.value);
    assert_true(forth.interval.high < 15 && forth.interval.high > forth.value);
    assert_near(back.value, -forth.value, 0);
    assert_near(back.interval.low, -forth.interval.high, 0);
    assert_near(back.interval.high, -forth.interval.low, 0);
    assert_near(again.interval.low, forth.interval.low, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_of_known_values),
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_interval_of_the_median),
        cmocka_unit_test(test_outliers_are_beyond_fifteen_deviations),
        cmocka_unit_test(test_trend),
        cmocka_unit_test(test_long_series_are_summarized_too),
        cmocka_unit_test(test_two_groups_are_seen),
        cmocka_unit_test(test_normal_distribution),
        cmocka_unit_test(test_rank_test),
        cmocka_unit_test(test_centre_of_differences),
        cmocka_unit_test(test_many_differences),
        cmocka_unit_test(test_bootstrap_turns_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
