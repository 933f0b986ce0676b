/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "model/path_tree.h"

#include <stdio.h>
#include <string.h>

static void test_strings_are_interned(void **state)
{
    (void)state;
    struct dw_string_table table;
    dw_string_id empty = 9, a, b, again, zeros;
    assert_int_equal(dw_string_table_init(&table), 0);
    assert_int_equal(dw_string_intern(&table, "", 0, &empty), 0);
    assert_int_equal(empty, 0);
    assert_int_equal(dw_string_intern(&table, "alpha", 5, &a), 0);
    assert_int_equal(dw_string_intern(&table, "alph", 4, &b), 0);
    assert_int_equal(dw_string_intern(&table, "alphabet", 5, &again), 0);
    assert_int_equal(dw_string_intern(&table, "al\0ha", 5, &zeros), 0);
    assert_int_not_equal(a, b);
    assert_int_equal(a, again);
    assert_int_not_equal(a, zeros);
    assert_string_equal(table.strings[a].bytes, "alpha");
    assert_int_equal(table.strings[zeros].size, 5);
    assert_int_equal(table.count, 4);
    dw_string_table_release(&table);
}

static void test_many_strings(void **state)
{
    (void)state;
    struct dw_string_table table;
    assert_int_equal(dw_string_table_init(&table), 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 20000; i++) {
            char text[16];
            dw_string_id id;
            int size = snprintf(text, sizeof text, "name %u", i);
            assert_int_equal(dw_string_intern(&table, text, (size_t)size, &id), 0);
            assert_int_equal(id, i + 1);
        }
    }
    dw_string_table_release(&table);
}

static void test_frames_differ_in_every_field(void **state)
{
    (void)state;
    struct dw_frame_table table;
    static const struct dw_frame frames[] = {{DW_FRAME_REGION, 1, 2, 3},
                                             {DW_FRAME_COUNTER, 1, 2, 3},
                                             {DW_FRAME_REGION, 2, 2, 3},
                                             {DW_FRAME_REGION, 1, 3, 3},
                                             {DW_FRAME_REGION, 1, 2, 2}};
    struct dw_string_table strings;
    assert_int_equal(dw_frame_table_init(&table, &strings), 0);
    assert_int_equal(table.frames[0].kind, DW_FRAME_ROOT);
    assert_string_equal(strings.strings[table.frames[0].name].bytes, "<main>");
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT_OF(frames); i++) {
            dw_frame_id id;
            assert_int_equal(dw_frame_intern(&table, &frames[i], &id), 0);
            assert_int_equal(id, i + 1);
        }
    }
    dw_frame_table_release(&table);
    dw_string_table_release(&strings);
}

static void test_paths_are_frame_under_parent(void **state)
{
    (void)state;
    struct dw_path_tree tree;
    dw_path_id a, b, under_a, under_b, again;
    assert_int_equal(dw_path_tree_init(&tree), 0);
    assert_int_equal(dw_path_intern(&tree, DW_PATH_ROOT, 1, &a), 0);
    assert_int_equal(dw_path_intern(&tree, DW_PATH_ROOT, 2, &b), 0);
    assert_int_equal(dw_path_intern(&tree, a, 3, &under_a), 0);
    assert_int_equal(dw_path_intern(&tree, b, 3, &under_b), 0);
    assert_int_equal(dw_path_intern(&tree, a, 3, &again), 0);
    assert_int_not_equal(under_a, under_b);
    assert_int_equal(under_a, again);
    assert_int_equal(tree.count, 5);
    for (dw_path_id i = 1; i < tree.count; i++)
        assert_true(tree.paths[i].parent < i);
    dw_path_tree_release(&tree);
}

static void test_endless_name_is_cut_between_characters(void **state)
{
    (void)state;
    struct dw_string_table table;
    static char name[3 * DW_NAME_MAX];
    dw_string_id id, same;
    memset(name, 'a', sizeof name);
    memcpy(name + DW_NAME_MAX - 1, "\xe2\x82\xac", 3);
    assert_int_equal(dw_string_table_init(&table), 0);
    assert_int_equal(dw_string_intern_name(&table, name, sizeof name, &id), 0);
    struct dw_string cut = table.strings[id];
    assert_memory_equal(cut.bytes, name, DW_NAME_MAX - 1);
    assert_string_equal(cut.bytes + DW_NAME_MAX - 1, "[… 8193 bytes …]");
    assert_int_equal(dw_string_intern_name(&table, name, DW_NAME_MAX, &id), 0);
    assert_int_equal(dw_string_intern(&table, name, DW_NAME_MAX, &same), 0);
    assert_int_equal(id, same);
    dw_string_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endless_name_is_cut_between_characters),
        cmocka_unit_test(test_strings_are_interned),
        cmocka_unit_test(test_many_strings),
        cmocka_unit_test(test_frames_differ_in_every_field),
        cmocka_unit_test(test_paths_are_frame_under_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
