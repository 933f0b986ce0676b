/* SPDX-License-Identifier: MIT
 * What is matched with what in two profiles, and why the difference is said to be. */
#include "check.h"
#include "fixture.h"
#include "json_check.h"

#include "base/grow.h"
#include "lens/diff/diff.h"
#include "lens/diff/diff_order.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000u

static const struct dw_diff_options by_line = {
    .by = DW_DIFF_LINE, .threshold = 0.01, .files = {"old", "new"}};
static const struct dw_diff_options by_function = {
    .by = DW_DIFF_FUNCTION, .threshold = 0.01, .files = {"old", "new"}};

static struct dw_diff make(struct dw_profile *old, struct dw_profile *new,
                           const struct dw_diff_options *options)
{
    struct dw_diff diff;
    fixture_prepare(old);
    fixture_prepare(new);
    assert_int_equal(dw_diff_make(old, new, options, &diff), 0);
    return diff;
}

static void check_sentence(const struct dw_diff *diff, const char *expected)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_diff_put_sentence(&out, diff);
    dw_out_char(&out, '\0');
    assert_string_equal((char *)out.buffer.data, expected);
    dw_out_close(&out);
}

/* The row of a line, by its number on a side. */
static const struct dw_diff_row *row_of(const struct dw_diff *diff, enum dw_side side,
                                        uint32_t line)
{
    for (uint32_t i = 0; i < diff->count; i++)
        if (diff->rows[i].is_in[side] && diff->rows[i].lines[side] == line)
            return &diff->rows[i];
    fail_msg("no row of line %u", line);
    return NULL;
}

static void add_source(struct dw_profile *profile, const char *file, const char *text)
{
    struct dw_source source;
    assert_int_equal(dw_string_intern(&profile->strings, file, strlen(file), &source.file), 0);
    assert_int_equal(dw_string_intern(&profile->strings, text, strlen(text), &source.text), 0);
    assert_int_equal(DW_GROW(profile->sources, profile->source_count, profile->source_capacity), 0);
    profile->sources[profile->source_count++] = source;
}

/* The second line got slower, one was put before it, and the whole function moved. */
static void test_lines_by_their_text(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    dw_frame_id f = fixture_function(old, "/a/x.py", 1, "f");
    dw_frame_id g = fixture_function(new, "/b/x.py", 3, "f");
    add_source(old, "/a/x.py", "def f():\n  total = 0\n  total += 1\n  return total\n");
    add_source(new, "/b/x.py",
               "\n\ndef f():\n    check()\n    total = 0\n    total += 1\n    return total");
    fixture_line(old, f, 2, 1, 1 * MS);
    fixture_line(old, f, 3, 10, 2 * MS);
    fixture_line(old, f, 4, 1, 1 * MS);
    fixture_line(new, g, 4, 1, 3 * MS);
    fixture_line(new, g, 5, 1, 1 * MS);
    fixture_line(new, g, 6, 30, 6 * MS);
    fixture_line(new, g, 7, 1, 1 * MS);
    struct dw_diff diff = make(old, new, &by_line);
    assert_int_equal(diff.count, 4);
    assert_int_equal(row_of(&diff, DW_OLD, 2)->lines[DW_NEW], 5);
    assert_int_equal(row_of(&diff, DW_OLD, 3)->lines[DW_NEW], 6);
    assert_int_equal(row_of(&diff, DW_OLD, 4)->lines[DW_NEW], 7);
    assert_false(row_of(&diff, DW_NEW, 4)->is_in[DW_OLD]);
    check_sentence(&diff, "total +7.00 ms: +4.00 ms in f line 6 `total += 1` (run 3x more often), "
                          "+3.00 ms in f line 4 `check()` (new)");
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

static void test_an_edited_line_is_the_same_line(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    dw_frame_id f = fixture_function(old, "x.py", 1, "f"),
                g = fixture_function(new, "x.py", 1, "f");
    add_source(old, "x.py", "def f():\n  a()\n  b(1)\n  c()\n");
    add_source(new, "x.py", "def f():\n  a()\n  b(2)\n  c()\n");
    for (uint32_t line = 2; line <= 4; line++) {
        fixture_line(old, f, line, 1, MS);
        fixture_line(new, g, line, 1, line == 3 ? 9 * MS : MS);
    }
    struct dw_diff diff = make(old, new, &by_line);
    check_sentence(&diff, "total +8.00 ms: +8.00 ms in f line 3 `b(2)` (9x slower)");
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

static void test_lines_without_text_by_their_offset(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    dw_frame_id f = fixture_function(old, "x.py", 10, "f");
    dw_frame_id g = fixture_function(new, "x.py", 30, "f");
    fixture_line(old, f, 11, 4, 4 * MS);
    fixture_line(old, f, 12, 4, 4 * MS);
    fixture_line(new, g, 31, 4, 4 * MS);
    fixture_line(new, g, 32, 1, 1 * MS);
    fixture_line(new, g, 33, 1, 1 * MS);
    struct dw_diff diff = make(old, new, &by_line);
    assert_int_equal(row_of(&diff, DW_OLD, 11)->lines[DW_NEW], 31);
    assert_int_equal(row_of(&diff, DW_OLD, 12)->lines[DW_NEW], 32);
    assert_false(row_of(&diff, DW_NEW, 33)->is_in[DW_OLD]);
    check_sentence(&diff, "total -2.00 ms: -3.00 ms in f line 32 (run 4x less often), "
                          "+1.00 ms in f line 33 (new)");
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

/* A line that calls a function with lines is not to blame for it; for other callees it is. */
static void test_time_in_callees_with_lines_is_theirs(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    struct dw_profile *both[] = {old, new};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t inner = i ? 8 * MS : 2 * MS, library = i ? 3 * MS : MS;
        dw_frame_id outer = fixture_function(both[i], "x.py", 1, "outer");
        dw_frame_id leaf = fixture_function(both[i], "x.py", 9, "leaf");
        dw_frame_id other = fixture_function(both[i], "json.py", 9, "loads");
        fixture_line(both[i], outer, 2, 1, MS + inner + library);
        fixture_line(both[i], leaf, 10, 1, inner);
        dw_line_get(&both[i]->lines, outer, 2, leaf)->values[DW_LINE_TIME] = inner;
        dw_line_get(&both[i]->lines, outer, 2, other)->values[DW_LINE_TIME] = library;
    }
    struct dw_diff diff = make(old, new, &by_line);
    assert_int_equal(diff.totals[DW_OLD], 4 * MS);
    assert_int_equal(diff.totals[DW_NEW], 12 * MS);
    assert_int_equal(row_of(&diff, DW_NEW, 2)->change, 2 * MS);
    assert_int_equal(row_of(&diff, DW_NEW, 10)->change, 6 * MS);
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

static dw_path_id call(struct dw_profile *profile, uint32_t thread, dw_path_id parent,
                       dw_frame_id frame, unsigned count, uint64_t each)
{
    dw_path_id path = fixture_step(profile, parent, (struct dw_place){.frame = frame});
    for (unsigned i = 0; i < count; i++)
        fixture_entry(profile, thread, path, each);
    return path;
}

static uint32_t thread_of(struct dw_profile *profile)
{
    return fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
}

/* main > parse > tokenise, where parse is called three times as often. */
static struct dw_profile *parser(const char *file, unsigned parses)
{
    struct dw_profile *profile = fixture_new();
    uint32_t thread = thread_of(profile);
    dw_frame_id main = fixture_function(profile, file, 9, "main");
    dw_frame_id parse = fixture_function(profile, file, 5, "parse");
    dw_frame_id tokenise = fixture_function(profile, file, 1, "tokenise");
    dw_path_id top = call(profile, thread, DW_PATH_ROOT, main, 1, (parses * 12 + 1) * MS);
    dw_path_id middle = call(profile, thread, top, parse, parses, 12 * MS);
    call(profile, thread, middle, tokenise, 10 * parses, MS);
    return profile;
}

static void test_the_cause_of_more_calls_is_above(void **state)
{
    (void)state;
    struct dw_profile *old = parser("/a/src/x.py", 2), *new = parser("/b/src/x.py", 6);
    struct dw_diff diff = make(old, new, &by_function);
    check_sentence(&diff, "total +48.0 ms: +40.0 ms in parse → tokenise (called 3x more often, "
                          "because parse is)");
    double times[DW_SIDES];
    assert_true(dw_diff_times_of(&diff, "parse", times));
    assert_int_equal(times[DW_OLD], 24 * MS);
    assert_int_equal(times[DW_NEW], 72 * MS);
    assert_false(dw_diff_times_of(&diff, "nobody", times));
    dw_diff_release(&diff);
    diff = make(new, old, &by_function);
    check_sentence(&diff, "total -48.0 ms: -40.0 ms in parse → tokenise (called 3x less often, "
                          "because parse is)");
    dw_diff_release(&diff);
    diff = make(old, old, &by_function);
    check_sentence(&diff, "total +0.00 ms: no change worth naming");
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

/* What cancels out in the total is still named. */
static void test_changes_that_cancel_out(void **state)
{
    (void)state;
    struct dw_profile *profiles[DW_SIDES];
    for (unsigned i = 0; i < 2; i++) {
        profiles[i] = fixture_new();
        uint32_t thread = thread_of(profiles[i]);
        dw_frame_id a = fixture_function(profiles[i], "x.py", 1, "a");
        dw_frame_id b = fixture_function(profiles[i], "x.py", 5, "b");
        call(profiles[i], thread, DW_PATH_ROOT, a, 2, i ? 20 * MS : 10 * MS);
        call(profiles[i], thread, DW_PATH_ROOT, b, 1, i ? 10 * MS : 30 * MS);
    }
    struct dw_diff diff = make(profiles[DW_OLD], profiles[DW_NEW], &by_function);
    check_sentence(&diff, "total +0.0 ms: +20.0 ms in a (each call 2x slower), "
                          "-20.0 ms in b (3x faster)");
    dw_diff_release(&diff);
    dw_profile_free(profiles[DW_OLD]);
    dw_profile_free(profiles[DW_NEW]);
}

/* 100 functions take 10 ms each, then 11: none of them changed by 1 % of the total. */
static void test_what_is_below_the_threshold_is_no_cause(void **state)
{
    (void)state;
    struct dw_profile *profiles[DW_SIDES];
    for (unsigned i = 0; i < 2; i++) {
        profiles[i] = fixture_new();
        uint32_t thread = thread_of(profiles[i]);
        for (uint32_t line = 1; line <= 100; line++) {
            char name[8];
            snprintf(name, sizeof name, "f%u", line);
            dw_frame_id f = fixture_function(profiles[i], "x.py", line, name);
            call(profiles[i], thread, DW_PATH_ROOT, f, 1, (i ? 11 : 10) * MS);
        }
    }
    struct dw_diff diff = make(profiles[DW_OLD], profiles[DW_NEW], &by_function);
    check_sentence(&diff, "total +0.10 s: in many places, none of them worth naming");
    dw_diff_release(&diff);
    dw_profile_free(profiles[DW_OLD]);
    dw_profile_free(profiles[DW_NEW]);
}

/* Times that two runs of anything differ by. */
static void test_what_is_too_short_is_not_judged(void **state)
{
    (void)state;
    static const char little[] = "total +81.8 us: too little time to judge (less than 0.1 ms)";
    const uint64_t each[] = {18700, 100500, 1018700, 1020700};
    struct dw_profile *profiles[4];
    for (unsigned i = 0; i < 4; i++) {
        profiles[i] = fixture_new();
        dw_frame_id f = fixture_function(profiles[i], "x.py", 1, "f");
        call(profiles[i], thread_of(profiles[i]), DW_PATH_ROOT, f, 1, each[i]);
    }
    struct dw_diff diff = make(profiles[0], profiles[1], &by_function);
    check_sentence(&diff, little);
    dw_diff_release(&diff);
    diff = make(profiles[2], profiles[3], &by_function);
    check_sentence(&diff, "total +0.0020 ms: no change worth naming");
    dw_diff_release(&diff);
    for (unsigned i = 0; i < 4; i++)
        dw_profile_free(profiles[i]);
}

/* Reasons that point in opposite directions are both said. */
static void test_more_calls_that_are_faster(void **state)
{
    (void)state;
    struct dw_profile *profiles[DW_SIDES];
    for (unsigned i = 0; i < 2; i++) {
        profiles[i] = fixture_new();
        dw_frame_id f = fixture_function(profiles[i], "x.py", 1, "f");
        call(profiles[i], thread_of(profiles[i]), DW_PATH_ROOT, f, i ? 40 : 10, i ? MS : 2 * MS);
    }
    struct dw_diff diff = make(profiles[DW_OLD], profiles[DW_NEW], &by_function);
    check_sentence(&diff, "total +20.0 ms: +20.0 ms in f (called 4x more often; each call 2x "
                          "faster)");
    assert_int_equal(diff.rows[0].from_calls, 60 * MS);
    assert_int_equal(diff.rows[0].from_speed, -40 * (int)MS);
    dw_diff_release(&diff);
    dw_profile_free(profiles[DW_OLD]);
    dw_profile_free(profiles[DW_NEW]);
}

/* main calls sum itself, and once, for long, through `caller`. */
static struct dw_profile *summer(const char *caller, unsigned calls, uint64_t each, uint64_t own)
{
    struct dw_profile *profile = fixture_new();
    uint32_t thread = thread_of(profile);
    dw_frame_id main = fixture_function(profile, "x.py", 9, "main");
    dw_frame_id sum = fixture_function(profile, "x.py", 1, "sum");
    dw_path_id top = call(profile, thread, DW_PATH_ROOT, main, 1, 100 * MS);
    call(profile, thread, top, sum, 1000, own);
    if (!caller)
        return profile;
    dw_frame_id between = fixture_function(profile, "x.py", 5, caller);
    dw_path_id middle = call(profile, thread, top, between, 1, calls * each);
    call(profile, thread, middle, sum, calls, each);
    return profile;
}

static void check_summers(struct dw_profile *old, struct dw_profile *new, const char *reason)
{
    struct dw_diff diff = make(old, new, &by_function);
    struct dw_out out;
    dw_out_init_memory(&out);
    for (uint32_t i = 0; i < diff.count; i++)
        if (!strcmp(diff.places.places[diff.rows[i].place].name.bytes, "sum"))
            dw_diff_put_reason(&out, &diff, &diff.rows[i]);
    dw_out_char(&out, '\0');
    assert_string_equal((char *)out.buffer.data, reason);
    dw_out_close(&out);
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

static void test_the_reason_is_of_the_path_that_is_named(void **state)
{
    (void)state;
    const uint64_t us = 1000;
    check_summers(summer("once", 1, 12 * MS, us), summer(NULL, 0, 0, us),
                  "no longer called, because once is gone");
    check_summers(summer(NULL, 0, 0, us), summer("once", 1, 12 * MS, us),
                  "newly called, because once is new");
    check_summers(summer("f", 10, MS, us), summer("f", 40, MS, us), "called 4x more often");
    check_summers(summer("f", 10, MS, us), summer("f", 10, 3 * MS, us), "each call 3x slower");
}

/* The same calls by way of another function: that is not why they take longer. */
static void test_another_caller_is_no_reason(void **state)
{
    (void)state;
    check_summers(summer("f", 10, MS, 1), summer("g", 10, 8 * MS, 1), "each call 8x slower");
}

static bool are_one_place(const struct dw_diff_places *places, dw_frame_id old, dw_frame_id new)
{
    return places->of_frame[DW_OLD][old] == places->of_frame[DW_NEW][new];
}

static void make_places(const struct dw_profile *old, const struct dw_profile *new,
                        struct dw_diff_places *places)
{
    const struct dw_profile *const both[DW_SIDES] = {old, new};
    assert_int_equal(dw_diff_places_make(both, places), 0);
}

/* Two files of one name in different directories, in two checkouts. */
static void test_files_by_the_end_of_their_path(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    dw_frame_id a = fixture_function(old, "/home/me/one/src/a/__init__.py", 1, "f");
    dw_frame_id b = fixture_function(old, "/home/me/one/src/b/__init__.py", 1, "f");
    dw_frame_id library = fixture_function(old, "/usr/lib/python3.12/json.py", 1, "f");
    dw_frame_id new_b = fixture_function(new, "/tmp/two/src/b/__init__.py", 1, "f");
    dw_frame_id new_a = fixture_function(new, "/tmp/two/src/a/__init__.py", 1, "f");
    dw_frame_id new_library = fixture_function(new, "/usr/lib/python3.13/json.py", 7, "f");
    dw_frame_id stranger = fixture_function(new, "/tmp/two/other.py", 1, "f");
    struct dw_diff_places places;
    make_places(old, new, &places);
    assert_true(are_one_place(&places, a, new_a));
    assert_true(are_one_place(&places, b, new_b));
    assert_true(are_one_place(&places, library, new_library));
    assert_false(places.places[places.of_frame[DW_NEW][stranger]].is_in[DW_OLD]);
    dw_diff_places_release(&places);
    dw_profile_free(old);
    dw_profile_free(new);
}

/* Three lambdas became four: the anchor above them says which one is new. */
static void test_lines_tell_equal_names_apart(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    fixture_function(old, "x.py", 10, "f");
    fixture_function(new, "x.py", 30, "f");
    dw_frame_id olds[3], news[4];
    for (uint32_t i = 0; i < 3; i++)
        olds[i] = fixture_function(old, "x.py", 11 + 10 * i, "<lambda>");
    for (uint32_t i = 0; i < 4; i++)
        news[i] = fixture_function(new, "x.py", i < 2 ? 31 + 5 * i : 31 + 10 * (i - 1), "<lambda>");
    struct dw_diff_places places;
    make_places(old, new, &places);
    assert_true(are_one_place(&places, olds[0], news[0]));
    assert_true(are_one_place(&places, olds[1], news[2]));
    assert_true(are_one_place(&places, olds[2], news[3]));
    dw_diff_places_release(&places);
    make_places(new, old, &places);
    assert_true(are_one_place(&places, news[2], olds[1]));
    assert_false(places.places[places.of_frame[DW_OLD][news[1]]].is_in[DW_NEW]);
    dw_diff_places_release(&places);
    dw_profile_free(old);
    dw_profile_free(new);
}

static dw_frame_id frame(struct dw_profile *profile, uint32_t kind, const char *file, uint32_t line,
                         const char *name)
{
    struct dw_frame made = {.kind = kind, .line = line};
    dw_frame_id id;
    assert_int_equal(dw_string_intern(&profile->strings, name, strlen(name), &made.name), 0);
    assert_int_equal(dw_string_intern(&profile->strings, file, strlen(file), &made.file), 0);
    assert_int_equal(dw_frame_intern(&profile->frames, &made, &id), 0);
    return id;
}

/* Names that hold an address or a line differ from run to run. */
static void test_names_that_do_not_last(void **state)
{
    (void)state;
    struct dw_profile *old = fixture_new(), *new = fixture_new();
    dw_frame_id built_in = frame(old, DW_FRAME_BUILTIN, "", 0, "<built-in method x at 0x7f12>");
    dw_frame_id new_built_in = frame(new, DW_FRAME_BUILTIN, "", 0, "<built-in method x at 0x7e>");
    dw_frame_id region = frame(old, DW_FRAME_REGION, "/a/x.py", 9, "f() <x.py:9>");
    dw_frame_id new_region = frame(new, DW_FRAME_REGION, "/a/x.py", 29, "f() <x.py:29>");
    struct dw_diff_places places;
    make_places(old, new, &places);
    assert_true(are_one_place(&places, built_in, new_built_in));
    assert_true(are_one_place(&places, region, new_region));
    dw_diff_places_release(&places);
    dw_profile_free(old);
    dw_profile_free(new);
}

static void check_texts(const char *old, const char *new, const char *expected)
{
    struct dw_string olds[16] = {0}, news[16] = {0};
    uint32_t mates[16], old_count = (uint32_t)strlen(old), new_count = (uint32_t)strlen(new);
    for (uint32_t i = 0; i < old_count; i++)
        olds[i] = (struct dw_string){&old[i], 1};
    for (uint32_t i = 0; i < new_count; i++)
        news[i] = (struct dw_string){&new[i], 1};
    assert_int_equal(dw_diff_pair_texts(olds, old_count, news, new_count, mates), 0);
    for (uint32_t i = 0; i < old_count; i++)
        assert_int_equal(mates[i] == DW_DIFF_NONE ? '-' : (int)mates[i] + '0', expected[i]);
}

static void test_texts_are_paired_in_order(void **state)
{
    (void)state;
    check_texts("abc", "abc", "012");
    check_texts("abc", "xabc", "123");
    check_texts("abc", "ac", "0-1");
    check_texts("abc", "axc", "012");  /* b was edited */
    check_texts("abc", "axyc", "0-3"); /* or was it? */
    check_texts("aba", "a", "0--");
    check_texts("", "abc", "");
    check_texts("abc", "", "---");
}

/* Every form of output survives any name, and is what it says it is. */
static void test_any_bytes_as_names(void **state)
{
    (void)state;
    static const char hostile[] = "</svg>&\"'\n\t\x01\xff\xef\xbf\xbe]]>";
    struct dw_profile *old = parser("x.py", 1), *new = parser("x.py", 2);
    dw_frame_id f = fixture_function(new, hostile, 1, hostile);
    call(new, 0, DW_PATH_ROOT, f, 1, 50 * MS);
    struct dw_diff diff = make(old, new, &by_function);
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(dw_diff_write_json(&diff, &out), 0);
    dw_out_char(&out, '\0');
    assert_true(json_is_valid((char *)out.buffer.data));
    dw_out_close(&out);
    dw_out_init_memory(&out);
    assert_int_equal(dw_diff_write_flame(&diff, &out), 0);
    dw_out_char(&out, '\0');
    assert_non_null(strstr((char *)out.buffer.data,
                           "&lt;/svg&gt;&amp;&quot;'\\n\\t\\x01\xef\xbf\xbd\xef\xbf\xbd]]&gt;"));
    dw_out_close(&out);
    dw_out_init_memory(&out);
    assert_int_equal(dw_diff_write_table(&diff, &out), 0);
    dw_out_close(&out);
    dw_diff_release(&diff);
    dw_profile_free(old);
    dw_profile_free(new);
}

static void check_row(const struct dw_diff_row *row, uint64_t self_ms, uint64_t total_ms)
{
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        assert_int_equal(row->at[side].self, self_ms * MS);
        assert_int_equal(row->at[side].total, total_ms * MS);
        assert_int_equal(row->at[side].count, total_ms); /* a sample each */
    }
}

/* A sample of one function, of 1 ms. */
static void add_sample(struct dw_profile *profile, dw_frame_id frame, uint32_t line)
{
    dw_path_id path =
        fixture_step(profile, DW_PATH_ROOT, (struct dw_place){.frame = frame, .line = line});
    fixture_sample(profile, 0, path, DW_SAMPLE_PYTHON, 1, MS);
}

/* Native code without a line, and garbage collection, are their caller's. */
static void test_lines_of_samples(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    struct dw_diff diff = make(profile, profile, &by_line);
    assert_true(diff.are_samples);
    assert_int_equal(diff.totals[DW_NEW], 10 * MS);
    assert_int_equal(diff.count, 6);
    check_row(row_of(&diff, DW_NEW, 3), 0, 7);
    check_row(row_of(&diff, DW_NEW, 4), 2, 3);
    check_row(row_of(&diff, DW_NEW, 6), 0, 5);
    check_row(row_of(&diff, DW_NEW, 7), 4, 4);
    check_row(row_of(&diff, DW_NEW, 12), 0, 4);
    check_row(row_of(&diff, DW_NEW, 30), 4, 4);
    dw_diff_release(&diff);
    dw_profile_free(profile);
}

/* One of them has no first line, so that they cannot be told apart. */
static void test_lines_of_functions_that_are_one_place(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    dw_frame_id twice[] = {fixture_function(profile, "x.py", 0, "twice"),
                           fixture_function(profile, "x.py", 40, "twice")};
    for (size_t i = 0; i < 2; i++) {
        add_sample(profile, twice[i], 41);
        add_sample(profile, twice[i], 0);
    }
    add_source(profile, "x.py", "the first line\n");
    struct dw_diff diff = make(profile, profile, &by_line);
    assert_int_equal(diff.totals[DW_NEW], 14 * MS);
    assert_int_equal(diff.count, 8);
    check_row(row_of(&diff, DW_NEW, 41), 2, 2);
    check_row(row_of(&diff, DW_NEW, 0), 2, 2);
    assert_int_equal(row_of(&diff, DW_NEW, 0)->texts[DW_NEW].size, 0);
    dw_diff_release(&diff);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_by_their_text),
        cmocka_unit_test(test_an_edited_line_is_the_same_line),
        cmocka_unit_test(test_lines_without_text_by_their_offset),
        cmocka_unit_test(test_time_in_callees_with_lines_is_theirs),
        cmocka_unit_test(test_lines_of_samples),
        cmocka_unit_test(test_lines_of_functions_that_are_one_place),
        cmocka_unit_test(test_the_cause_of_more_calls_is_above),
        cmocka_unit_test(test_changes_that_cancel_out),
        cmocka_unit_test(test_what_is_below_the_threshold_is_no_cause),
        cmocka_unit_test(test_what_is_too_short_is_not_judged),
        cmocka_unit_test(test_more_calls_that_are_faster),
        cmocka_unit_test(test_the_reason_is_of_the_path_that_is_named),
        cmocka_unit_test(test_another_caller_is_no_reason),
        cmocka_unit_test(test_files_by_the_end_of_their_path),
        cmocka_unit_test(test_lines_tell_equal_names_apart),
        cmocka_unit_test(test_names_that_do_not_last),
        cmocka_unit_test(test_texts_are_paired_in_order),
        cmocka_unit_test(test_any_bytes_as_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
