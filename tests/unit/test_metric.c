/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "model/metric.h"

static void add(struct dw_metric *metric, uint64_t duration)
{
    struct dw_histogram_entry bucket = {dw_histogram_bucket(duration), 1};
    struct dw_metric entry = {.count = 1,
                              .total = duration,
                              .min = duration,
                              .max = duration,
                              .sum_squares = (unsigned __int128)duration * duration,
                              .histogram = {&bucket, 1, 1}};
    assert_int_equal(dw_metric_merge(metric, &entry), 0);
}

static void test_merge_adds_up(void **state)
{
    (void)state;
    struct dw_metric a = {.count = 2,
                          .total = 100,
                          .suspended = 1,
                          .children = 2,
                          .cpu = 3,
                          .min = 20,
                          .max = 80,
                          .open = 1,
                          .open_total = 5};
    struct dw_metric b = {.count = 1,
                          .total = 10,
                          .suspended = 10,
                          .children = 20,
                          .cpu = 30,
                          .min = 10,
                          .max = 10,
                          .open = 2,
                          .open_total = 50};
    assert_int_equal(dw_metric_merge(&a, &b), 0);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.total, 110);
    assert_int_equal(a.suspended, 11);
    assert_int_equal(a.children, 22);
    assert_int_equal(a.cpu, 33);
    assert_int_equal(a.min, 10);
    assert_int_equal(a.max, 80);
    assert_int_equal(a.open, 3);
    assert_int_equal(a.open_total, 55);
}

/* A metric without completed entries has no minimum to give. */
static void test_merge_keeps_min_from_the_empty(void **state)
{
    (void)state;
    struct dw_metric a = {0}, empty = {.open = 1, .total = 9, .open_total = 9};
    add(&a, 50);
    assert_int_equal(dw_metric_merge(&a, &empty), 0);
    assert_int_equal(a.min, 50);
    assert_int_equal(dw_metric_merge(&empty, &a), 0);
    assert_int_equal(empty.min, 50);
    dw_metric_release(&a);
    dw_metric_release(&empty);
}

/* Times are rounded to nanoseconds, their squares are not. */
static void test_one_entry_does_not_deviate(void **state)
{
    (void)state;
    struct dw_metric metric = {.count = 1, .total = 1000, .sum_squares = 1000900};
    assert_true(dw_metric_stdev(&metric) == 0);
}

static void test_statistics(void **state)
{
    (void)state;
    struct dw_metric metric = {0};
    assert_true(dw_metric_stdev(&metric) == 0);
    assert_int_equal(dw_metric_quantile(&metric, 0.5), 0);
    static const uint64_t durations[] = {2000, 4000, 4000, 4000, 5000, 5000, 7000, 9000};
    for (size_t i = 0; i < COUNT_OF(durations); i++)
        add(&metric, durations[i]);
    double stdev = dw_metric_stdev(&metric);
    assert_true(stdev > 1999.99 && stdev < 2000.01);
    assert_in_range(dw_metric_quantile(&metric, 0.5), 3900, 4200);
    assert_int_equal(dw_metric_quantile(&metric, 1.0), 9000);
    assert_in_range(dw_metric_quantile(&metric, 0.0), 2000, 2040);
    dw_metric_release(&metric);
}

static void test_active_never_negative(void **state)
{
    (void)state;
    assert_int_equal(dw_metric_active(&(struct dw_metric){.total = 10, .suspended = 4}), 6);
    assert_int_equal(dw_metric_active(&(struct dw_metric){.total = 4, .suspended = 10}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_adds_up),
        cmocka_unit_test(test_merge_keeps_min_from_the_empty),
        cmocka_unit_test(test_one_entry_does_not_deviate),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_active_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
