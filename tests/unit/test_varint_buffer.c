/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/buffer.h"
#include "base/varint.h"

#include <string.h>

static void test_numbers_survive(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        size_t size;
    } cases[] = {{0, 1},     {1, 1},          {127, 1},        {128, 2},        {16383, 2},
                 {16384, 3}, {UINT32_MAX, 5}, {1ull << 56, 9}, {UINT64_MAX, 10}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_buffer buffer = {0};
        dw_buffer_put(&buffer, cases[i].value);
        assert_int_equal(buffer.size, cases[i].size);
        struct dw_cursor cursor = {buffer.data, buffer.data + buffer.size, false};
        assert_int_equal(dw_cursor_get(&cursor), cases[i].value);
        assert_false(cursor.bad);
        assert_ptr_equal(cursor.at, cursor.end);
        dw_buffer_release(&buffer);
    }
}

static void test_zigzag_survives(void **state)
{
    (void)state;
    static const int64_t values[] = {0, -1, 1, -64, 64, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_true(dw_unzigzag(dw_zigzag(values[i])) == values[i]);
    assert_int_equal(dw_zigzag(-1), 1);
    assert_int_equal(dw_zigzag(1), 2);
}

static void test_cursor_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {{"", 0}, {"\x80", 1}, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
        struct dw_cursor cursor = {bytes, bytes + cases[i].size, false};
        dw_cursor_get(&cursor);
        assert_true(cursor.bad);
    }
}

static void test_u32_refuses_more(void **state)
{
    (void)state;
    struct dw_buffer buffer = {0};
    dw_buffer_put(&buffer, (uint64_t)UINT32_MAX + 1);
    struct dw_cursor cursor = {buffer.data, buffer.data + buffer.size, false};
    assert_int_equal(dw_cursor_get_u32(&cursor), 0);
    assert_true(cursor.bad);
    dw_buffer_release(&buffer);
}

static void test_blob_bounds(void **state)
{
    (void)state;
    struct dw_buffer buffer = {0};
    dw_buffer_put_blob(&buffer, "abc", 3);
    size_t size = 0;
    struct dw_cursor cursor = {buffer.data, buffer.data + buffer.size, false};
    const uint8_t *bytes = dw_cursor_get_blob(&cursor, &size);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "abc", 3);
    struct dw_cursor shorter = {buffer.data, buffer.data + buffer.size - 1, false};
    assert_null(dw_cursor_get_blob(&shorter, &size));
    assert_true(shorter.bad);
    dw_buffer_release(&buffer);
}

static void test_buffer_grows(void **state)
{
    (void)state;
    struct dw_buffer buffer = {0};
    for (int i = 0; i < 100000; i++)
        dw_buffer_append(&buffer, "xyz", 3);
    assert_int_equal(buffer.size, 300000);
    assert_memory_equal(buffer.data + 299997, "xyz", 3);
    assert_false(buffer.failed);
    dw_buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_survive), cmocka_unit_test(test_zigzag_survives),
        cmocka_unit_test(test_cursor_refuses),  cmocka_unit_test(test_u32_refuses_more),
        cmocka_unit_test(test_blob_bounds),     cmocka_unit_test(test_buffer_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
