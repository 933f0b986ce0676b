/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "model/metric.h"

static void add(struct dw_metric *metric, uint64_t duration)
{
    struct dw_histogram_entry bucket = dw_histogram_entry(dw_histogram_bucket(duration), 1);
    struct dw_spread spread = {(unsigned __int128)duration * duration, {{&bucket}, 1, 1}};
    struct dw_metric entry = {.count = 1,
                              .total = duration,
                              .min = duration,
                              .max = duration,
                              .spread = &spread,
                              .owns_spread = true}; /* so that nobody borrows it */
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
    struct dw_spread spread = {.sum_squares = 1000900};
    struct dw_metric metric = {.count = 1, .total = 1000, .spread = &spread};
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

/* What is borrowed stays as it is, and is copied for the first other that is added to it. */
static void test_borrowed_spreads_do_not_change(void **state)
{
    (void)state;
    struct dw_histogram_entry buckets[] = {{3, 1}, {5, 2}};
    struct dw_spread spreads[] = {{9, {{&buckets[0]}, 1, 1}}, {50, {{&buckets[1]}, 1, 1}}};
    struct dw_metric sum = {0}, again = {0};
    for (size_t i = 0; i < COUNT_OF(spreads); i++) {
        struct dw_metric metric = {.count = i + 1, .spread = &spreads[i]};
        assert_int_equal(dw_metric_merge(&sum, &metric), 0);
        assert_true(i || sum.spread == &spreads[0]);
    }
    assert_int_equal(spreads[0].histogram.count, 1);
    assert_true(sum.owns_spread && sum.spread->sum_squares == 59);
    assert_int_equal(sum.spread->histogram.count, 2);
    assert_int_equal(dw_metric_merge(&again, &sum), 0);
    assert_true(again.owns_spread && again.spread != sum.spread);
    dw_metric_release(&sum);
    dw_metric_release(&again);
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
        cmocka_unit_test(test_borrowed_spreads_do_not_change),
        cmocka_unit_test(test_active_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
