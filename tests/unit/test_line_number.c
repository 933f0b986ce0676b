/* SPDX-License-Identifier: MIT
 * Location tables: each kind of entry, and tables that lie. tests/cli compares with CPython. */
#include "check.h"

#include "attach/python/line_number.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY(kind, units) (uint8_t)(0x80 | (kind) << 3 | ((units)-1))

/* On the heap, so that the sanitizer sees any read past the end. */
static uint32_t line_of(const uint8_t *bytes, size_t size, uint32_t first, int64_t unit)
{
    uint8_t *table = malloc(size ? size : 1);
    assert_non_null(table);
    memcpy(table, bytes, size);
    uint32_t line = dw_line_number(table, size, first, unit);
    free(table);
    return line;
}

static void test_every_kind_of_entry(void **state)
{
    (void)state;
    const uint8_t table[] = {
        ENTRY(0, 2),  0x12,                      /* units 0, 1: the first line */
        ENTRY(11, 1), 3,    4,                   /* 2: one line on */
        ENTRY(12, 8), 3,    4,                   /* 3 to 10: two more */
        ENTRY(13, 1), 0x0b,                      /* 11: five back */
        ENTRY(15, 2),                            /* 12, 13: none */
        ENTRY(14, 1), 0x48, 0x01, 1, 2, 0x43, 1, /* 14: 36 on, wide columns */
        ENTRY(10, 1), 1,    2,                   /* 15: the same */
    };
    static const struct {
        int64_t unit;
        uint32_t line;
    } cases[] = {{-1, 100}, {0, 100}, {1, 100}, {2, 101},  {3, 103},  {10, 103},
                 {11, 98},  {12, 0},  {13, 0},  {14, 134}, {15, 134}, {16, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(line_of(table, sizeof table, 100, cases[i].unit), cases[i].line);
}

static void test_columns(void **state)
{
    (void)state;
    const uint8_t table[] = {
        ENTRY(2, 1),  0x35,                   /* short: column 2 * 8 + 3, five long */
        ENTRY(11, 1), 3,    40,               /* one line on, from 3 to 40 */
        ENTRY(13, 1), 0x02,                   /* one more, no columns */
        ENTRY(14, 1), 0x02, 0x02, 7, 0x41, 1, /* long: ends two lines later */
    };
    static const struct dw_location expected[] = {
        {100, 100, 20, 25}, {101, 101, 4, 41}, {102, 102, 0, 0}, {103, 105, 7, 65}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct dw_location found = dw_location_find(table, sizeof table, 100, (int64_t)i);
        assert_memory_equal(&found, &expected[i], sizeof found);
    }
    const uint8_t cut[] = {ENTRY(11, 1), 3};
    struct dw_location found = dw_location_find(cut, sizeof cut, 100, 0);
    assert_int_equal(found.line, 101);
    assert_int_equal(found.column, 0);
}

static void test_tables_that_lie_give_no_line(void **state)
{
    (void)state;
    const uint8_t no_start[] = {0x10, 0x10};
    const uint8_t endless[] = {ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
                               0x7f,         0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
    const uint8_t cut_number[] = {ENTRY(14, 1), 0x40};
    const uint8_t no_number[] = {ENTRY(13, 1), ENTRY(13, 1)};
    const uint8_t below_zero[] = {ENTRY(13, 1), 0x7f, 0x3f};
    assert_int_equal(line_of(no_start, 0, 1, 0), 0);
    assert_int_equal(line_of(no_start, sizeof no_start, 1, 0), 0);
    assert_int_equal(line_of(endless, sizeof endless, 1, 0), 0);
    assert_int_equal(line_of(cut_number, sizeof cut_number, 1, 0), 0);
    assert_int_equal(line_of(no_number, sizeof no_number, 1, 0), 0);
    assert_int_equal(line_of(below_zero, sizeof below_zero, 1, 0), 0);
    assert_int_equal(line_of(below_zero, sizeof below_zero, UINT32_MAX, 0), 0);
}

static void test_any_bytes_are_survived(void **state)
{
    (void)state;
    uint8_t table[64];
    srand(1);
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)rand() % sizeof table;
        for (size_t i = 0; i < size; i++)
            table[i] = (uint8_t)rand();
        line_of(table, size, (uint32_t)rand(), rand() % 600 - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_entry),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_tables_that_lie_give_no_line),
        cmocka_unit_test(test_any_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
