/* SPDX-License-Identifier: MIT
 * Which paths count as functions, and whose the time between them is. */
#include "check.h"
#include "fixture.h"

#include "lens/view/functions.h"

#include <string.h>

#define MS 1000000u

static dw_path_id child(struct dw_profile *profile, dw_path_id parent, enum dw_frame_kind kind,
                        const char *name)
{
    return fixture_child(profile, parent, kind, name, strlen(name));
}

static struct dw_functions make(struct dw_profile *profile)
{
    struct dw_functions functions;
    fixture_prepare(profile);
    assert_int_equal(dw_functions_make(profile, DW_FAMILY_ANY, false, true, &functions), 0);
    return functions;
}

static void check(const struct dw_functions *functions, const char *name, uint64_t count,
                  uint64_t self, uint64_t total)
{
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct dw_function *function = &functions->functions[i];
        if (strcmp(function->name.bytes, name) != 0)
            continue;
        assert_int_equal(function->sums.count, count);
        assert_int_equal(function->sums.self, self);
        assert_int_equal(function->sums.total, total);
        return;
    }
    fail_msg("no function %s", name);
}

/* f > region > len: the region's time is f's, and len was called by f. */
static void test_regions_between_functions(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    dw_path_id top = child(profile, DW_PATH_ROOT, DW_FRAME_REGION, "top");
    dw_path_id f = child(profile, top, DW_FRAME_FUNCTION, "f");
    dw_path_id region = child(profile, f, DW_FRAME_REGION, "region");
    dw_path_id len = child(profile, region, DW_FRAME_BUILTIN, "len");
    fixture_entry(profile, thread, top, 20 * MS);
    fixture_entry(profile, thread, f, 10 * MS);
    fixture_entry(profile, thread, region, 6 * MS);
    fixture_entry(profile, thread, len, MS);
    fixture_add(profile, thread, child(profile, f, DW_FRAME_COUNTER, "bytes"), DW_TOTAL, MS);
    struct dw_functions functions = make(profile);
    assert_true(dw_functions_are_in(profile));
    assert_int_equal(functions.count, 2);
    check(&functions, "f", 1, 9 * MS, 10 * MS);
    check(&functions, "len", 1, MS, MS);
    assert_int_equal(functions.edge_count, 1);
    assert_int_equal(functions.all.count, 2);
    assert_int_equal(functions.all.total, 10 * MS);
    dw_functions_release(&functions);
    dw_profile_free(profile);
}

/* What is open is a call too, and its time is not its caller's own. */
static void test_open_calls(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 1, 0);
    uint32_t first = fixture_thread(profile, process, 1, "MainThread");
    uint32_t other = fixture_thread(profile, process, 2, "other");
    dw_path_id f = child(profile, DW_PATH_ROOT, DW_FRAME_FUNCTION, "f");
    dw_path_id g = child(profile, f, DW_FRAME_FUNCTION, "g");
    fixture_open(profile, first, f, 10 * MS);
    fixture_entry(profile, first, g, 2 * MS);
    fixture_open(profile, first, g, 3 * MS);
    fixture_entry(profile, other, f, 4 * MS);
    fixture_entry(profile, other, g, 4 * MS);
    fixture_add(profile, first, f, DW_CALL_SUSPENDED, MS);
    struct dw_functions functions = make(profile);
    check(&functions, "f", 2, 5 * MS, 14 * MS); /* asleep is beside it */
    check(&functions, "g", 3, 9 * MS, 9 * MS);
    dw_functions_release(&functions);
    dw_profile_free(profile);
}

static void test_regions_alone(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    struct dw_functions functions = make(profile);
    assert_false(dw_functions_are_in(profile));
    assert_int_equal(functions.count, 2);
    check(&functions, "load", 3, 4 * MS, 7 * MS);
    check(&functions, "parse", 3, 3 * MS, 3 * MS);
    dw_functions_release(&functions);
    dw_profile_free(profile);
}

/* Same name and line in files of one name: two rows, with as much of the path as it takes. */
static void test_files_are_as_short_as_tells_apart(void **state)
{
    (void)state;
    static const struct {
        const char *file, *shown;
    } files[] = {
        {"/lib/numpy/__init__.py", "numpy/__init__.py"},
        {"/lib/pandas/__init__.py", "lib/pandas/__init__.py"},
        {"/old/pandas/__init__.py", "old/pandas/__init__.py"},
        {"/lib/pandas/one.py", "one.py"},
        {"two.py", "two.py"},
        {"/a/two.py", "a/two.py"},
    };
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        dw_frame_id frame = fixture_function(profile, files[i].file, 1, "<module>");
        dw_path_id path = fixture_step(profile, DW_PATH_ROOT, (struct dw_place){.frame = frame});
        fixture_entry(profile, thread, path, (i + 1) * MS);
    }
    struct dw_functions functions;
    fixture_prepare(profile);
    assert_int_equal(dw_functions_make(profile, DW_FAMILY_CALLS, true, true, &functions), 0);
    assert_int_equal(functions.count, COUNT_OF(files));
    for (uint32_t i = 0; i < functions.count; i++) {
        size_t which = functions.functions[i].sums.self / MS - 1;
        assert_string_equal(functions.functions[i].file.bytes, files[which].shown);
    }
    dw_functions_release(&functions);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_between_functions),
        cmocka_unit_test(test_files_are_as_short_as_tells_apart),
        cmocka_unit_test(test_open_calls),
        cmocka_unit_test(test_regions_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
