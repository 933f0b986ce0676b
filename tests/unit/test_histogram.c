/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "model/histogram.h"

static void test_value_lies_in_its_bucket(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 48; bit++) {
        for (uint64_t around = 0; around <= 2; around++) {
            uint64_t value = ((uint64_t)1 << bit) - 1 + around;
            if (value >> 48)
                continue;
            uint32_t bucket = dw_histogram_bucket(value);
            assert_true(bucket < DW_HISTOGRAM_BUCKETS);
            assert_true(dw_histogram_floor(bucket) <= value);
            assert_true(dw_histogram_floor(bucket + 1) > value);
        }
    }
    assert_int_equal(dw_histogram_bucket(UINT64_MAX), DW_HISTOGRAM_BUCKETS - 1);
}

static void test_buckets_are_narrow(void **state)
{
    (void)state;
    for (uint32_t bucket = DW_HISTOGRAM_SPLIT; bucket + 1 < DW_HISTOGRAM_BUCKETS; bucket++) {
        uint64_t floor = dw_histogram_floor(bucket), next = dw_histogram_floor(bucket + 1);
        assert_true(next > floor);
        assert_true((next - floor) * DW_HISTOGRAM_SPLIT <= floor);
    }
}

static void test_entries_stay_sorted(void **state)
{
    (void)state;
    struct dw_histogram histogram = {0}, twice = {0};
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(dw_histogram_add(&histogram, i * 7919 % 500, 1), 0);
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(histogram.entries[i].bucket, i);
        assert_int_equal(histogram.entries[i].count, 1);
    }
    assert_int_equal(dw_histogram_set(&histogram, 3, 5), 0);
    assert_int_equal(dw_histogram_merge(&twice, &histogram), 0);
    assert_int_equal(dw_histogram_merge(&twice, &histogram), 0);
    assert_int_equal(twice.entries[3].count, 10);
    assert_int_equal(twice.count, 500);
    dw_histogram_release(&histogram);
    dw_histogram_release(&twice);
}

static void test_quantiles_of_known_values(void **state)
{
    (void)state;
    struct dw_histogram histogram = {0};
    assert_int_equal(dw_histogram_quantile(&histogram, 0.5), 0);
    for (uint64_t i = 1; i <= 10000; i++)
        assert_int_equal(dw_histogram_add(&histogram, dw_histogram_bucket(i * 1000), 1), 0);
    static const double fractions[] = {0.01, 0.25, 0.5, 0.9, 0.99, 1.0};
    for (size_t i = 0; i < COUNT_OF(fractions); i++) {
        double exact = fractions[i] * 10000000;
        double got = (double)dw_histogram_quantile(&histogram, fractions[i]);
        assert_true(got > exact * 0.97 && got < exact * 1.03);
    }
    dw_histogram_release(&histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_lies_in_its_bucket),
        cmocka_unit_test(test_buckets_are_narrow),
        cmocka_unit_test(test_entries_stay_sorted),
        cmocka_unit_test(test_quantiles_of_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
