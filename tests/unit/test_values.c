/* SPDX-License-Identifier: MIT
 * Measures, sets of labels, and rows of values: what is put in is there, and nothing else. */
#include "check.h"
#include "fixture.h"

#include "base/error.h"
#include "model/value_table.h"

#include <string.h>

static void test_measures_are_found_by_their_names(void **state)
{
    (void)state;
    for (enum dw_measure i = 0; i < DW_MEASURES; i++) {
        assert_non_null(dw_measures[i].name);
        assert_true(dw_measures[i].name[0] && dw_measures[i].meaning[0]);
        assert_true(dw_measures[i].unit < DW_UNIT_TICKS); /* those are in logs only */
        assert_int_equal(dw_measure_find(dw_measures[i].name), i);
    }
    assert_int_equal(dw_measure_find(""), DW_MEASURES);
    assert_int_equal(dw_measure_find("coun"), DW_MEASURES);
    assert_int_equal(dw_measure_find("counts"), DW_MEASURES);
}

static void test_each_measure_is_of_one_probe(void **state)
{
    (void)state;
    static const dw_measure_mask masks[] = {DW_ENTRY_MASK, DW_CALL_MASK, DW_SAMPLE_MASK};
    for (size_t i = 0; i < COUNT_OF(masks); i++)
        for (size_t j = 0; j < i; j++)
            assert_false(masks[i] & masks[j]);
    assert_int_equal(DW_TICK_MASK & ~DW_ENTRY_MASK, 0);
}

static void test_measures_add_up_in_their_ways(void **state)
{
    (void)state;
    assert_int_equal(dw_measure_add(DW_TOTAL, 3, 4), 7);
    assert_int_equal(dw_measure_add(DW_MAX, 3, 4), 4);
    assert_int_equal(dw_measure_add(DW_MAX, 4, 3), 4);
    assert_int_equal(dw_measure_add(DW_MIN, 3, 4), 3);
    assert_int_equal(dw_measure_add(DW_MIN, 4, 3), 3);
    assert_int_equal(dw_measure_add(DW_MIN, 0, 4), 4); /* 0: there was none */
    assert_int_equal(dw_measure_add(DW_MIN, 4, 0), 4);
}

static uint32_t row_of(struct dw_value_table *table, dw_path_id path, dw_labels_id labels)
{
    uint32_t row = UINT32_MAX;
    assert_int_equal(dw_value_row_get(table, path, labels, &row), 0);
    assert_true(row < table->count);
    return row;
}

static void test_rows_are_found_by_path_and_labels(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct dw_value_table table = {0};
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(row_of(&table, i * 7919 % COUNT, i % 3), i);
    for (uint32_t i = COUNT; i-- > 0;)
        assert_int_equal(row_of(&table, i * 7919 % COUNT, i % 3), i);
    assert_int_equal(table.count, COUNT);
    assert_int_equal(row_of(&table, 0, 1), COUNT); /* path 0 has a row, of other labels */
    assert_int_equal(table.rows[COUNT].path, 0);
    assert_int_equal(table.rows[COUNT].labels, 1);
    assert_int_equal(table.rows[COUNT].mask, 0);
    dw_value_table_release(&table);
}

/* The row after the one asked for last is looked at first, and is not it. */
static void test_the_next_row_is_no_other(void **state)
{
    (void)state;
    struct dw_value_table table = {0};
    for (int round = 0; round < 3; round++) {
        assert_int_equal(row_of(&table, 1, 0), 0);
        assert_int_equal(row_of(&table, 1, 1), 1);
        assert_int_equal(row_of(&table, 2, 1), 2);
        assert_int_equal(row_of(&table, 1, 0), 0);
    }
    assert_int_equal(table.count, 3);
    dw_value_table_release(&table);
}

/* What is set replaces all; what is added joins what is there. */
static void test_numbers_are_set_and_added(void **state)
{
    (void)state;
    struct dw_value_table table = {0};
    uint32_t row = row_of(&table, 1, 0);
    const uint64_t entry[] = {2, 70}, sums[] = {3, 5, 90}, samples[] = {8};
    assert_int_equal(dw_value_row_set(&table, row, DW_MASK(DW_COUNT) | DW_MASK(DW_TOTAL), entry),
                     0);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_TOTAL), 70);
    assert_null(dw_value_at(&table, &table.rows[row], DW_MIN));
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_MIN), 0);
    assert_int_equal(
        dw_value_row_add(&table, row, DW_MASK(DW_COUNT) | DW_MASK(DW_MIN) | DW_MASK(DW_WALL), sums),
        0);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_COUNT), 5);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_TOTAL), 70);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_MIN), 5);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_WALL), 90);
    assert_int_equal(dw_value_row_set(&table, row, DW_MASK(DW_SAMPLES), samples), 0);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_SAMPLES), 8);
    assert_int_equal(dw_value_get(&table, &table.rows[row], DW_COUNT), 5);
    dw_value_table_release(&table);
}

/* As a hostile log would: what it costs does not grow with the number of changes. */
static void test_rows_that_change_their_measures_take_bounded_room(void **state)
{
    (void)state;
    struct dw_value_table table = {0};
    const uint64_t number = 1;
    uint32_t row = row_of(&table, 1, 0);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(dw_value_row_set(&table, row, DW_MASK(i % DW_MEASURES), &number), 0);
    assert_true(table.number_count <= DW_MEASURES * (DW_MEASURES + 1) / 2);
    dw_value_table_release(&table);
}

static void test_a_row_may_have_nothing(void **state)
{
    (void)state;
    struct dw_value_table table = {0}, sum = {0};
    assert_int_equal(dw_value_row_set(&table, row_of(&table, 1, 0), 0, NULL), 0);
    assert_int_equal(dw_value_table_merge(&sum, &table), 0);
    assert_int_equal(sum.count, 1);
    assert_int_equal(sum.rows[0].mask, 0);
    assert_int_equal(sum.mask, 0);
    dw_value_table_release(&table);
    dw_value_table_release(&sum);
}

#define ROWS 8

/* The same, with room for all measures. */
struct dense {
    dw_measure_mask masks[ROWS];
    uint64_t numbers[ROWS][DW_MEASURES];
};

static void change_dense(struct dense *dense, uint32_t row, bool adds, dw_measure_mask mask,
                         const uint64_t *numbers)
{
    for (enum dw_measure i = 0; i < DW_MEASURES; i++) {
        if (!(mask & DW_MASK(i)))
            continue;
        uint64_t before = adds ? dense->numbers[row][i] : 0;
        dense->numbers[row][i] = adds ? dw_measure_add(i, before, *numbers) : *numbers;
        numbers++;
    }
    dense->masks[row] |= mask;
}

static void check_dense(const struct dw_value_table *table, const struct dense *dense)
{
    assert_int_equal(table->count, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_int_equal(table->rows[i].mask, dense->masks[i]);
        assert_int_equal(dense->masks[i] & ~table->mask, 0);
        for (enum dw_measure m = 0; m < DW_MEASURES; m++)
            assert_int_equal(dw_value_get(table, &table->rows[i], m), dense->numbers[i][m]);
    }
}

static dw_measure_mask random_mask(void)
{
    dw_measure_mask mask = 0;
    for (unsigned i = 0; i < DW_MEASURES; i++)
        mask |= (dw_measure_mask)fixture_random_below(2) << i;
    return mask;
}

/* Rows that grow and shrink leave the others alone. */
static void test_rows_of_any_measures_are_kept_apart(void **state)
{
    (void)state;
    struct dw_value_table table = {0};
    struct dense dense = {0};
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(row_of(&table, i, 0), i);
    for (int round = 0; round < 2000; round++) {
        uint64_t numbers[DW_MEASURES];
        uint32_t row = fixture_random_below(ROWS);
        bool adds = fixture_random_below(4);
        dw_measure_mask mask = random_mask();
        for (size_t i = 0; i < COUNT_OF(numbers); i++)
            numbers[i] = fixture_random_below(1000);
        int error = adds ? dw_value_row_add(&table, row, mask, numbers)
                         : dw_value_row_set(&table, row, mask, numbers);
        assert_int_equal(error, 0);
        change_dense(&dense, row, adds, mask, numbers);
        check_dense(&table, &dense);
    }
    dw_value_table_release(&table);
}

static void add_duration(struct dw_value_table *table, uint32_t row, uint64_t duration)
{
    struct dw_spread *spread = dw_value_row_spread(table, row);
    assert_non_null(spread);
    spread->sum_squares += (unsigned __int128)duration * duration;
    assert_int_equal(dw_histogram_add(&spread->histogram, dw_histogram_bucket(duration), 1), 0);
}

static void test_spreads_are_of_single_rows(void **state)
{
    (void)state;
    struct dw_value_table table = {0};
    for (uint32_t i = 0; i < 100; i++)
        row_of(&table, i, 0);
    for (uint32_t i = 0; i < 100; i += 2)
        add_duration(&table, i, i);
    add_duration(&table, 4, 1000);
    assert_int_equal(table.spread_count, 50);
    assert_int_equal(table.rows[1].spread, 0);
    assert_int_equal(dw_value_row_spread(&table, 4)->sum_squares, 4 * 4 + 1000 * 1000);
    assert_int_equal(dw_value_row_spread(&table, 4)->histogram.count, 2);
    assert_int_equal(dw_value_row_spread(&table, 6)->sum_squares, 6 * 6);
    dw_value_table_release(&table);
}

static void test_tables_are_merged_row_by_row(void **state)
{
    (void)state;
    struct dw_value_table sum = {0}, more = {0};
    const uint64_t one[] = {1, 50, 50}, two[] = {2, 70, 30}, other[] = {9};
    const dw_measure_mask entry = DW_MASK(DW_COUNT) | DW_MASK(DW_TOTAL) | DW_MASK(DW_MIN);
    assert_int_equal(dw_value_row_set(&sum, row_of(&sum, 7, 2), entry, one), 0);
    add_duration(&sum, 0, 50);
    assert_int_equal(dw_value_row_set(&more, row_of(&more, 8, 2), DW_MASK(DW_CPU), other), 0);
    assert_int_equal(dw_value_row_set(&more, row_of(&more, 7, 2), entry, two), 0);
    assert_int_equal(dw_value_row_set(&more, row_of(&more, 7, 3), DW_MASK(DW_CPU), other), 0);
    add_duration(&more, 1, 40);
    assert_int_equal(dw_value_table_merge(&sum, &more), 0);
    assert_int_equal(sum.count, 3);
    assert_int_equal(dw_value_get(&sum, &sum.rows[0], DW_COUNT), 3);
    assert_int_equal(dw_value_get(&sum, &sum.rows[0], DW_TOTAL), 120);
    assert_int_equal(dw_value_get(&sum, &sum.rows[0], DW_MIN), 30);
    assert_int_equal(dw_value_row_spread(&sum, 0)->sum_squares, 50 * 50 + 40 * 40);
    assert_int_equal(dw_value_row_spread(&sum, 0)->histogram.count, 2);
    assert_int_equal(dw_value_get(&sum, &sum.rows[row_of(&sum, 8, 2)], DW_CPU), 9);
    assert_int_equal(dw_value_get(&sum, &sum.rows[row_of(&sum, 7, 3)], DW_CPU), 9);
    assert_int_equal(sum.mask, entry | DW_MASK(DW_CPU));
    dw_value_table_release(&sum);
    dw_value_table_release(&more);
}

/* As when a tree is built anew: rows of two paths that become one add up. */
static void test_rows_are_merged_under_another_path(void **state)
{
    (void)state;
    struct dw_value_table from = {0}, into = {0};
    const uint64_t numbers[] = {5};
    for (dw_path_id path = 1; path <= 2; path++)
        assert_int_equal(
            dw_value_row_set(&from, row_of(&from, path, 0), DW_MASK(DW_SAMPLES), numbers), 0);
    for (uint32_t i = 0; i < from.count; i++) {
        struct dw_value_row row = from.rows[i];
        row.path = 30;
        assert_int_equal(dw_value_row_merge(&into, &from, &row), 0);
    }
    assert_int_equal(into.count, 1);
    assert_int_equal(into.rows[0].path, 30);
    assert_int_equal(dw_value_get(&into, &into.rows[0], DW_SAMPLES), 10);
    dw_value_table_release(&from);
    dw_value_table_release(&into);
}

static dw_labels_id labels_of(struct dw_label_table *table, uint32_t state,
                              const struct dw_label *pairs, uint32_t count)
{
    dw_labels_id id = UINT32_MAX;
    assert_int_equal(dw_labels_intern(table, state, pairs, count, &id), 0);
    assert_true(id < table->count);
    return id;
}

static void test_labels_are_sets(void **state)
{
    (void)state;
    static const struct dw_label pairs[] = {{5, 50}, {3, 30}, {4, 40}},
                                 sorted[] = {{3, 30}, {4, 40}, {5, 50}},
                                 doubled[] = {{5, 1}, {3, 30}, {5, 50}, {4, 40}, {3, 30}},
                                 other[] = {{3, 30}, {4, 41}, {5, 50}};
    struct dw_label_table table;
    assert_int_equal(dw_label_table_init(&table), 0);
    assert_int_equal(labels_of(&table, 0, NULL, 0), DW_LABELS_NONE);
    dw_labels_id set = labels_of(&table, 0, pairs, 3);
    assert_int_not_equal(set, DW_LABELS_NONE);
    assert_int_equal(labels_of(&table, 0, sorted, 3), set);
    assert_int_equal(labels_of(&table, 0, doubled, 5), set);
    assert_int_not_equal(labels_of(&table, 0, other, 3), set);
    assert_int_not_equal(labels_of(&table, 0, sorted, 2), set);
    assert_int_not_equal(labels_of(&table, 1, sorted, 3), set);
    assert_int_equal(table.count, 5);
    assert_int_equal(table.sets[set].count, 3);
    assert_memory_equal(&table.pairs[table.sets[set].first], sorted, sizeof sorted);
    dw_label_table_release(&table);
}

static void test_the_value_of_a_label(void **state)
{
    (void)state;
    static const struct dw_label pairs[] = {{5, 50}, {3, 30}, {5, 51}};
    struct dw_label_table table;
    assert_int_equal(dw_label_table_init(&table), 0);
    dw_labels_id set = labels_of(&table, 0, pairs, 3), state_only = labels_of(&table, 4, NULL, 0);
    assert_int_equal(dw_labels_value(&table, set, 3), 30);
    assert_int_equal(dw_labels_value(&table, set, 5), 51);
    assert_int_equal(dw_labels_value(&table, set, 4), 0);
    assert_int_equal(dw_labels_value(&table, state_only, 3), 0);
    assert_int_equal(dw_labels_value(&table, DW_LABELS_NONE, 3), 0);
    dw_label_table_release(&table);
}

static void test_labels_say_the_state_of_samples(void **state)
{
    (void)state;
    struct dw_label_table table;
    assert_int_equal(dw_label_table_init(&table), 0);
    for (uint32_t i = 0; i <= (DW_SAMPLE_STATE_MASK | DW_SAMPLE_HOLDS_GIL); i++)
        assert_int_equal(dw_labels_state(&table, labels_of(&table, i + 1, NULL, 0)), i);
    assert_int_equal(dw_labels_state(&table, DW_LABELS_NONE), DW_SAMPLE_RUNNING);
    dw_label_table_release(&table);
}

static void test_many_sets_of_labels(void **state)
{
    (void)state;
    struct dw_label_table table;
    struct dw_label pairs[DW_LABELS_MAX + 1];
    dw_labels_id id = 77;
    for (uint32_t i = 0; i < COUNT_OF(pairs); i++)
        pairs[i] = (struct dw_label){COUNT_OF(pairs) - i, i};
    assert_int_equal(dw_label_table_init(&table), 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            pairs[0].value = i;
            assert_int_equal(labels_of(&table, 0, pairs, 1 + i % DW_LABELS_MAX), i + 1);
        }
    assert_int_equal(dw_labels_intern(&table, 0, pairs, COUNT_OF(pairs), &id), DW_ERR_TOO_LARGE);
    assert_int_equal(id, 77);
    assert_int_equal(table.count, 3001);
    dw_label_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_are_found_by_their_names),
        cmocka_unit_test(test_each_measure_is_of_one_probe),
        cmocka_unit_test(test_measures_add_up_in_their_ways),
        cmocka_unit_test(test_rows_are_found_by_path_and_labels),
        cmocka_unit_test(test_the_next_row_is_no_other),
        cmocka_unit_test(test_numbers_are_set_and_added),
        cmocka_unit_test(test_rows_that_change_their_measures_take_bounded_room),
        cmocka_unit_test(test_a_row_may_have_nothing),
        cmocka_unit_test(test_rows_of_any_measures_are_kept_apart),
        cmocka_unit_test(test_spreads_are_of_single_rows),
        cmocka_unit_test(test_tables_are_merged_row_by_row),
        cmocka_unit_test(test_rows_are_merged_under_another_path),
        cmocka_unit_test(test_labels_are_sets),
        cmocka_unit_test(test_the_value_of_a_label),
        cmocka_unit_test(test_labels_say_the_state_of_samples),
        cmocka_unit_test(test_many_sets_of_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
