/* SPDX-License-Identifier: MIT
 * What the rows say, for profiles whose answer is known. */
#include "check.h"
#include "fixture.h"

#include "base/error.h"
#include "lens/view/column.h"
#include "lens/view/row.h"

#include <math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

static struct dw_rows make(struct dw_profile *profile, enum dw_by by, const char *sort)
{
    struct dw_rows rows;
    struct dw_lens_options options = {.by = by, .sort = sort};
    fixture_prepare(profile);
    assert_int_equal(dw_rows_make(profile, &options, &rows), 0);
    return rows;
}

/* "depth:name" of all rows, for one comparison. */
static uint64_t average(const struct dw_rows *rows, const struct dw_row *row)
{
    struct dw_metric metric = dw_row_metric(rows, row);
    return dw_metric_average(&metric);
}

static void check_shape(const struct dw_rows *rows, const char *expected)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    for (uint32_t i = 0; i < rows->count; i++) {
        dw_out_printf(&out, "%s%u:", i ? " " : "", rows->rows[i].depth);
        dw_row_put_name(&out, rows, &rows->rows[i]);
        assert_int_equal(rows->rows[i].id, i);
    }
    dw_out_char(&out, '\0');
    assert_string_equal((char *)out.buffer.data, expected);
    dw_out_close(&out);
}

static const struct dw_row *find(const struct dw_rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (!strcmp(dw_row_name(rows, &rows->rows[i]).bytes, name))
            return &rows->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void test_region_tree(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    struct dw_rows rows = make(profile, DW_BY_REGION, NULL);
    check_shape(&rows, "0:<main> 1:load 2:parse");
    const struct dw_row *root = &rows.rows[0], *load = &rows.rows[1], *parse = &rows.rows[2];
    assert_int_equal(root->total, 10 * MS); /* not the worker's 5 ms too */
    assert_int_equal(dw_row_metric(&rows, root).count, 1);
    assert_int_equal(dw_row_metric(&rows, root).min, 10 * MS);
    assert_int_equal(dw_row_metric(&rows, root).max, 10 * MS);
    assert_int_equal(average(&rows, root), 10 * MS);
    assert_int_equal(root->inner, 3 * MS);
    assert_int_equal(root->self, 4 * MS);
    assert_int_equal(load->total, 7 * MS);
    assert_int_equal(dw_row_metric(&rows, load).count, 3);
    assert_int_equal(dw_row_metric(&rows, load).min, 1 * MS);
    assert_int_equal(load->inner, 4 * MS);
    assert_int_equal(load->self, 4 * MS);
    assert_int_equal(load->parent, 0);
    assert_int_equal(parse->parent, 1);
    assert_int_equal(dw_row_tree(&rows, parse)->total, 10 * MS);
    assert_int_equal(root->parent, DW_ROW_NONE);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

static void test_root_of_several_processes(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t process = fixture_process(profile, 10 + i, i * 100u);
        uint32_t first = fixture_thread(profile, process, 1, "MainThread");
        uint32_t other = fixture_thread(profile, process, 2, "other");
        fixture_root(profile, first, (2 + 4 * i) * MS);
        fixture_root(profile, other, 100 * MS);
    }
    struct dw_rows rows = make(profile, DW_BY_REGION, NULL);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].total, 8 * MS);
    assert_int_equal(dw_row_metric(&rows, &rows.rows[0]).count, 2);
    assert_int_equal(average(&rows, &rows.rows[0]), 4 * MS);
    assert_int_equal(dw_row_metric(&rows, &rows.rows[0]).min, 2 * MS);
    assert_int_equal(dw_row_metric(&rows, &rows.rows[0]).max, 6 * MS);
    dw_rows_release(&rows);
    rows = make(profile, DW_BY_PROCESS, NULL);
    check_shape(&rows, "0:process 10 0:process 11");
    assert_int_equal(rows.rows[1].total, 6 * MS);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

/* The same measurements, interned in either order, give the same rows. */
static void build_siblings(struct dw_profile *profile, const char *const *names, size_t count)
{
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_root(profile, thread, 100 * MS);
    for (size_t i = 0; i < count; i++)
        fixture_entry(profile, thread, fixture_path(profile, names[i]),
                      !strcmp(names[i], "big") ? 9 * MS : 5 * MS);
}

static void test_siblings_are_in_one_order(void **state)
{
    (void)state;
    static const char *const forward[] = {"b", "a", "big", "ab", "B"};
    static const char *const backward[] = {"B", "ab", "big", "a", "b"};
    const char *const *both[] = {forward, backward};
    for (int i = 0; i < 2; i++) {
        struct dw_profile *profile = fixture_new();
        build_siblings(profile, both[i], 5);
        struct dw_rows rows = make(profile, DW_BY_REGION, NULL);
        check_shape(&rows, "0:<main> 1:big 1:B 1:a 1:ab 1:b");
        dw_rows_release(&rows);
        rows = make(profile, DW_BY_PATH, NULL);
        check_shape(&rows, "0:big 0:B 0:a 0:ab 0:b");
        dw_rows_release(&rows);
        rows = make(profile, DW_BY_NAME, NULL);
        check_shape(&rows, "0:<main> 0:big 0:B 0:a 0:ab 0:b");
        dw_rows_release(&rows);
        dw_profile_free(profile);
    }
}

/* Ancestors appear with nothing of their own; paths that nobody took do not. */
static void test_unmeasured_paths(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_path(profile, "<lost>");
    fixture_path(profile, "never/there");
    dw_path_id leaf = fixture_path(profile, "outer/middle/leaf");
    fixture_open(profile, thread, leaf, 3 * MS);
    struct dw_rows rows = make(profile, DW_BY_REGION, NULL);
    check_shape(&rows, "0:<main> 1:outer 2:middle 3:leaf");
    assert_int_equal(dw_row_metric(&rows, &rows.rows[1]).count, 0);
    assert_int_equal(rows.rows[1].total, 0);
    assert_int_equal(average(&rows, &rows.rows[3]), 0);
    assert_int_equal(rows.rows[3].total, 3 * MS);
    dw_rows_release(&rows);
    rows = make(profile, DW_BY_PATH, NULL);
    check_shape(&rows, "0:outer > middle > leaf");
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

/* Time in an open child is the child's, not the parent's own. */
static void test_open_children_are_not_self(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 1, 0);
    uint32_t first = fixture_thread(profile, process, 1, "MainThread");
    uint32_t other = fixture_thread(profile, process, 2, "other");
    dw_path_id a = fixture_path(profile, "a"), b = fixture_path(profile, "a/b");
    fixture_root(profile, first, 10 * MS);
    fixture_open(profile, first, a, 8 * MS);
    fixture_entry(profile, first, b, 1 * MS);
    fixture_open(profile, first, b, 2 * MS);
    fixture_open(profile, other, a, 50 * MS);
    fixture_add(profile, other, a, DW_SUSPENDED, 20 * MS);
    struct dw_rows rows = make(profile, DW_BY_REGION, NULL);
    assert_int_equal(rows.rows[0].self, 2 * MS); /* the other thread's 50 ms are not in it */
    assert_int_equal(rows.rows[0].inner, 0);
    assert_int_equal(rows.rows[1].self, (58 - 20 - 3) * MS);
    assert_int_equal(dw_row_metric(&rows, &rows.rows[1]).open, 2);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

static void test_threads_are_trees(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t late = fixture_process(profile, 5, 900), early = fixture_process(profile, 7, 100);
    fixture_property(profile, late, "host", "n1");
    fixture_thread(profile, late, 3, "c");
    fixture_thread(profile, early, 9, "b");
    uint32_t first = fixture_thread(profile, early, 7, "a");
    fixture_root(profile, first, 4 * MS);
    fixture_entry(profile, first, fixture_path(profile, "x"), MS);
    struct dw_rows rows = make(profile, DW_BY_THREAD, NULL);
    check_shape(&rows, "0:a of process 7 1:x 0:b of process 7 0:c of process 5@n1");
    assert_int_equal(dw_row_tree(&rows, &rows.rows[1])->thread, first);
    assert_int_equal(dw_row_tree(&rows, &rows.rows[1])->process, early);
    assert_int_equal(dw_row_tree(&rows, &rows.rows[1])->total, 4 * MS);
    assert_int_equal(dw_row_tree(&rows, &rows.rows[2])->total, 0);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

/* Two processes of one host, then of two. */
static void test_a_row_for_each_process(void **state)
{
    (void)state;
    static const char *const names[] = {"0:process 11 0:process 10",
                                        "0:process 11@b 0:process 10@a"};
    for (unsigned i = 0; i < 2; i++) {
        struct dw_profile *profile = fixture_new();
        uint32_t small = fixture_process(profile, 10, 0), large = fixture_process(profile, 11, 100);
        uint32_t first = fixture_thread(profile, small, 10, "MainThread");
        uint32_t second = fixture_thread(profile, large, 11, "MainThread");
        fixture_property(profile, small, "host", "a");
        fixture_property(profile, large, "host", i ? "b" : "a");
        fixture_root(profile, first, 2 * MS);
        fixture_root(profile, second, 6 * MS);
        fixture_entry(profile, second, fixture_path(profile, "x/y"), MS);
        struct dw_rows rows;
        const struct dw_lens_options options = {.by = DW_BY_PROCESS, .only_totals = true};
        fixture_prepare(profile);
        assert_int_equal(dw_rows_make(profile, &options, &rows), 0);
        check_shape(&rows, names[i]);
        assert_int_equal(rows.rows[0].total, 6 * MS);
        assert_int_equal(dw_row_tree(&rows, &rows.rows[0])->total, 8 * MS);
        assert_int_equal(dw_row_tree(&rows, &rows.rows[1])->total, 8 * MS);
        dw_rows_release(&rows);
        dw_profile_free(profile);
    }
}

/* What is small is counted once: a row under another one that is left out adds no time. */
static void test_small_rows_are_left_out(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_root(profile, thread, 100 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "a"), 90 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "a/b"), 90 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "a/b/c"), 60 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "a/b/d"), 20 * MS);
    for (int i = 0; i < 2; i++)
        fixture_entry(profile, thread, fixture_path(profile, "a/b/d/e"), 10 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "s"), 4 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "s/t"), 3 * MS);
    struct dw_rows rows;
    fixture_prepare(profile);
    assert_int_equal(dw_rows_make(profile, &(struct dw_lens_options){.threshold = 0.05}, &rows), 0);
    check_shape(&rows, "0:<main> 1:b 2:c 2:d 3:e"); /* d is entered once and e twice */
    assert_int_equal(rows.rows[1].joined, 1);
    assert_int_equal(rows.rows[1].total, 90 * MS);
    assert_int_equal(rows.rows[1].self, 10 * MS);
    assert_int_equal(rows.rows[4].parent, 3);
    assert_int_equal(rows.small, 2);
    assert_int_equal(rows.small_total, 4 * MS);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

/* f 10 ms > f 6 ms > g 2 ms > f 1 ms: f took 10 ms, not 17. */
static void test_recursion_counts_once(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_root(profile, thread, 20 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "f"), 10 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "f/f"), 6 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "f/f/g"), 2 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "f/f/g/f"), 1 * MS);
    fixture_entry(profile, thread, fixture_path(profile, "g"), 3 * MS);
    struct dw_rows rows = make(profile, DW_BY_NAME, NULL);
    const struct dw_row *f = find(&rows, "f"), *g = find(&rows, "g");
    assert_int_equal(rows.count, 3);
    assert_int_equal(f->total, 10 * MS);
    assert_int_equal(dw_row_metric(&rows, f).count, 3);
    assert_int_equal(f->self, (4 + 4 + 1) * MS);
    assert_int_equal(g->total, 5 * MS);
    assert_int_equal(dw_row_metric(&rows, g).count, 2);
    assert_int_equal(g->self, 4 * MS);
    assert_int_equal(dw_row_tree(&rows, g)->total, 20 * MS);
    dw_rows_release(&rows);
    dw_profile_free(profile);
}

static void test_sort_and_limit(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    uint32_t first = 0;
    fixture_entry(profile, first, fixture_path(profile, "once"), MS);
    fixture_entry(profile, first, fixture_path(profile, "aaa"), MS / 2);
    static const struct {
        const char *column, *shape;
    } cases[] = {
        {NULL, "0:<main> 1:load 2:parse 1:once 1:aaa"},
        {"count", "0:<main> 1:load 2:parse 1:aaa 1:once"},
        {"min", "0:<main> 1:load 2:parse 1:once 1:aaa"},
        {"name", "0:<main> 1:aaa 1:load 2:parse 1:once"},
        {"indented_name", "0:<main> 1:aaa 1:load 2:parse 1:once"},
        {"percents_of_total", "0:<main> 1:load 2:parse 1:once 1:aaa"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_rows rows = make(profile, DW_BY_REGION, cases[i].column);
        check_shape(&rows, cases[i].shape);
        dw_rows_release(&rows);
    }
    struct dw_rows rows;
    struct dw_lens_options options = {.limit = 2};
    assert_int_equal(dw_rows_make(profile, &options, &rows), 0);
    check_shape(&rows, "0:<main> 1:load");
    assert_int_equal(rows.left_out, 3);
    dw_rows_release(&rows);
    options.sort = "nonsense";
    assert_int_equal(dw_rows_make(profile, &options, &rows), DW_ERR_ARGUMENT);
    dw_profile_free(profile);
}

static void test_deep_paths(void **state)
{
    (void)state;
    const uint32_t depth = 100000;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    dw_path_id path = DW_PATH_ROOT;
    fixture_root(profile, thread, depth);
    for (uint32_t i = 0; i < depth; i++) {
        path = fixture_child(profile, path, DW_FRAME_REGION, i % 2 ? "odd" : "even", i % 2 ? 3 : 4);
        fixture_entry(profile, thread, path, depth - i);
    }
    for (enum dw_by by = DW_BY_REGION; by <= DW_BY_NAME; by++) {
        struct dw_rows rows = make(profile, by, "self");
        uint32_t expected = by == DW_BY_NAME ? 3 : by == DW_BY_PATH ? depth : depth + 1;
        assert_int_equal(rows.count, expected);
        if (by == DW_BY_REGION)
            assert_int_equal(rows.rows[depth].depth, depth);
        if (by == DW_BY_NAME)
            assert_int_equal(find(&rows, "even")->total, depth);
        dw_rows_release(&rows);
    }
    dw_profile_free(profile);
}

static void test_paths_are_spelled_with_a_cut(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    struct dw_speller speller;
    struct dw_spelling spelling;
    dw_path_id path = DW_PATH_ROOT, paths[1000];
    for (uint32_t i = 0; i < 1000; i++)
        paths[i] = path = fixture_child(profile, path, DW_FRAME_REGION, &i, sizeof i);
    assert_int_equal(dw_speller_init(&speller, profile->paths.paths, profile->paths.count), 0);
    for (uint32_t depth = 0; depth < 1000; depth += 37) {
        dw_speller_spell(&speller, paths[depth], 10, &spelling);
        uint32_t whole = depth + 1;
        assert_int_equal(spelling.count, whole < 10 ? whole : 10);
        assert_int_equal(spelling.cut, whole < 10 ? 0 : whole - 10);
        for (uint32_t i = 0; i < spelling.count; i++) {
            uint32_t at = spelling.cut && i >= spelling.cut_at ? i + spelling.cut : i;
            assert_int_equal(spelling.paths[i], paths[at]);
        }
    }
    dw_speller_release(&speller);
    dw_profile_free(profile);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.000 us"},
        {1324, "1.324 us"},
        {9999, "9.999 us"},
        {99999, "100.0 us"},
        {132440000, "132.4 ms"},
        {499990000, "500 ms"},
        {494500000, "494.5 ms"},
        {925000000, "925 ms"},
        {999949999, "1.000 s"},
        {999499999, "999 ms"},
        {10044000000, "10.04 s"},
        {9999600000, "10.00 s"},
        {99999000000, "100.0 s"},
        {499990000000, "500 s"},
        {5000000000000, "5000 s"},
        {UINT64_MAX, "18446744074 s"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_out out;
        dw_out_init_memory(&out);
        dw_out_duration(&out, cases[i].ns);
        dw_out_char(&out, '\0');
        assert_string_equal((char *)out.buffer.data, cases[i].text);
        dw_out_close(&out);
    }
}

static void test_columns_by_either_name(void **state)
{
    (void)state;
    assert_string_equal(dw_column_find("node_id")->name, "id");
    assert_ptr_equal(dw_column_find("id"), dw_column_find("node_id"));
    assert_string_equal(dw_column_find("indented_name")->name, "name");
    assert_string_equal(dw_column_find("name")->id, "name");
    assert_string_equal(dw_column_find("total_inner_us")->header, "total inner us");
    assert_null(dw_column_find("nonsense"));
    assert_null(dw_column_find(""));
}

static void test_whole_ns_of_any_number(void **state)
{
    (void)state;
    assert_int_equal(dw_whole_ns(1.9), 1);
    assert_int_equal(dw_whole_ns(-1e30), 0);
    assert_int_equal(dw_whole_ns(NAN), 0);
    assert_int_equal(dw_whole_ns(3e19), UINT64_MAX);
    assert_int_equal(dw_whole_ns(INFINITY), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_ns_of_any_number),
        cmocka_unit_test(test_region_tree),
        cmocka_unit_test(test_root_of_several_processes),
        cmocka_unit_test(test_siblings_are_in_one_order),
        cmocka_unit_test(test_unmeasured_paths),
        cmocka_unit_test(test_open_children_are_not_self),
        cmocka_unit_test(test_threads_are_trees),
        cmocka_unit_test(test_a_row_for_each_process),
        cmocka_unit_test(test_small_rows_are_left_out),
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_sort_and_limit),
        cmocka_unit_test(test_deep_paths),
        cmocka_unit_test(test_paths_are_spelled_with_a_cut),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_columns_by_either_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
