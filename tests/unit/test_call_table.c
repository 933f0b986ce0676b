/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "attach/sampling/call_table.h"

/* How often of so many times a call that is not proven is to be proven. */
static uint32_t times_to_prove(struct dw_call_table *table, uint32_t caller, uint32_t times)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < times; i++) {
        bool is_proven, is_to_prove;
        assert_int_equal(dw_call_table_check(table, caller, 7, &is_proven, &is_to_prove), 0);
        assert_false(is_proven);
        sum += is_to_prove;
    }
    return sum;
}

static void test_calls_are_doubted_until_they_are_proven(void **state)
{
    (void)state;
    struct dw_call_table table = {0};
    bool is_proven, is_to_prove;
    assert_int_equal(times_to_prove(&table, 1, 3), 3);
    assert_int_equal(dw_call_table_prove(&table, 1, 7), 0);
    assert_int_equal(dw_call_table_check(&table, 1, 7, &is_proven, &is_to_prove), 0);
    assert_true(is_proven);
    assert_int_equal(dw_call_table_check(&table, 1, 8, &is_proven, &is_to_prove), 0);
    assert_false(is_proven);
    dw_call_table_release(&table);
}

static void test_old_doubts_are_proven_seldom_but_not_never(void **state)
{
    (void)state;
    struct dw_call_table table = {0};
    for (uint32_t caller = 0; caller < 100; caller++) {
        uint32_t first = times_to_prove(&table, caller, 100);
        uint32_t later = times_to_prove(&table, caller, 1000);
        assert_true(first > 4 && first < 20);
        assert_true(later > 20 && later < 100);
    }
    dw_call_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_are_doubted_until_they_are_proven),
        cmocka_unit_test(test_old_doubts_are_proven_seldom_but_not_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
