/* SPDX-License-Identifier: MIT
 * Exact output for a small profile, and well-formed output for hostile ones. */
#include "check.h"
#include "fixture.h"
#include "json_check.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

static void check_text(struct dw_profile *profile, const char *lens,
                       const struct dw_lens_options *options, const char *expected)
{
    char *text = fixture_show(profile, lens, options, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void test_table(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    check_text(profile, "table", NULL,
               "name          total  % of total  count       min   average       max\n"
               "---------  --------  ----------  -----  --------  --------  --------\n"
               "<main>     10.00 ms     100.00%      1  10.00 ms  10.00 ms  10.00 ms\n"
               ". load     7.000 ms      70.00%      3  1.000 ms  2.333 ms  4.000 ms\n"
               ". . parse  3.000 ms      30.00%      3  1.000 ms  1.000 ms  1.000 ms\n");
    dw_profile_free(profile);
}

static void test_table_columns_and_limit(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    static const char *const columns[] = {"name", "node_id", "parent_id", "total_inner_us", "self"};
    struct dw_lens_options options = {.columns = columns, .column_count = 5, .limit = 2};
    check_text(profile, "table", &options,
               "name    id  parent id  total inner us      self\n"
               "------  --  ---------  --------------  --------\n"
               "<main>   0                       3000  4.000 ms\n"
               "load     1          0            4000  4.000 ms\n"
               "(1 more)\n");
    dw_profile_free(profile);
}

static void test_table_tells_losses(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    static const char *const columns[] = {"name"};
    struct dw_lens_options options = {.columns = columns, .column_count = 1};
    profile->losses = (struct dw_losses){2, 1234, 1};
    profile->processes[0].dropped = 7;
    check_text(profile, "table", &options,
               "name  \n------\n<main>\n"
               "2 damaged parts (1234 bytes) were skipped\n"
               "the program did not close this log: the last moments may be missing\n"
               "7 events were dropped\n");
    dw_profile_free(profile);
}

static void test_csv(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_entry(profile, 0, fixture_path(profile, "say \"a,b\""), 1999);
    check_text(profile, "csv", NULL,
               "id,name,parent_id,parent_name,total_us,total_inner_us,count,min_us,average_us,"
               "max_us\n"
               "0,<main>,,,10000,2998,1,10000,10000,10000\n"
               "1,load,0,<main>,7000,4000,3,1000,2333,4000\n"
               "2,parse,1,load,3000,3000,3,1000,1000,1000\n"
               "3,\"say \"\"a,b\"\"\",0,<main>,1,1,1,1,1,1\n");
    dw_profile_free(profile);
}

static void test_tree(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_entry(profile, 0, fixture_path(profile, "other"), MS);
    check_text(profile, "tree", NULL,
               "   total   share                count      self  name\n"
               "10.00 ms  100.0%  ██████████        1  3.000 ms  <main>\n"
               "7.000 ms   70.0%  ███████           3  4.000 ms  ├─ load\n"
               "3.000 ms   30.0%  ███               3  3.000 ms  │  └─ parse\n"
               "1.000 ms   10.0%  █                 1  1.000 ms  └─ other\n");
    dw_profile_free(profile);
}

/* A thread that is in a region while the first one is, too. */
static void test_shares_above_the_whole_are_explained(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_entry(profile, 1, fixture_path(profile, "load"), 9 * MS);
    for (int i = 0; i < 2; i++) {
        char *text = fixture_show(profile, i ? "tree" : "table", NULL, NULL);
        static const char told[] =
            "percentages are of 10.00 ms, the time that passed; threads ran side by side, so they "
            "can be more than 100\n";
        assert_int_equal(strncmp(text, told, strlen(told)), 0);
        free(text);
    }
    dw_profile_free(profile);
}

static void test_collapsed(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_entry(profile, 0, fixture_path(profile, "semi;colon\nand line"), MS);
    fixture_entry(profile, 0, fixture_path(profile, "tiny"), 499);
    check_text(profile, "collapsed", NULL,
               "<main> 3000\n"
               "<main>;load 4000\n"
               "<main>;load;parse 3000\n"
               "<main>;semi:colon\\nand line 1000\n");
    struct dw_lens_options options = {.by = DW_BY_THREAD};
    check_text(profile, "collapsed", &options,
               "MainThread 3000\n"
               "MainThread;load 3000\n"
               "MainThread;load;parse 3000\n"
               "MainThread;semi:colon\\nand line 1000\n"
               "worker 4000\n"
               "worker;load 1000\n");
    dw_profile_free(profile);
}

/* 292 years, behind an entry that leaves a rest to the next line. */
static void test_collapsed_of_the_longest_time(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_entry(profile, thread, fixture_path(profile, "a"), 1400);
    fixture_entry(profile, thread, fixture_path(profile, "b"), INT64_MAX);
    fixture_entry(profile, thread, fixture_path(profile, "c"), 1400);
    char *text = fixture_show(profile, "collapsed", NULL, NULL);
    assert_non_null(strstr(text, "<main>;b 9223372036854776\n"));
    free(text);
    dw_profile_free(profile);
}

static void test_chrome(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    check_text(
        profile, "chrome", NULL,
        "{\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":41,\"tid\":0,"
        "\"args\":{\"name\":\"train.py 41\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":41,\"tid\":41,"
        "\"args\":{\"name\":\"MainThread\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":41,\"tid\":42,"
        "\"args\":{\"name\":\"worker\"}},\n"
        "{\"name\":\"load\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":1000.000},\n"
        "{\"name\":\"parse\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":1500.000},\n"
        "{\"name\":\"parse\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":2500.123},\n"
        "{\"name\":\"bytes\",\"ph\":\"C\",\"pid\":41,\"tid\":41,\"ts\":2600.000,"
        "\"args\":{\"bytes\":-7}},\n"
        "{\"name\":\"bytes\",\"ph\":\"i\",\"s\":\"t\",\"pid\":41,\"tid\":41,\"ts\":2700.000},\n"
        "{\"name\":\"load\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":3000.000},\n"
        "{\"name\":\"load\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":4000.000,"
        "\"cat\":\"resumed\"},\n"
        "{\"name\":\"load\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":5000.000}\n"
        "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"dwell@" DW_VERSION "\","
        "\"start_ns\":1700000000000000000,\"damaged_parts\":0,\"cut_processes\":0,"
        "\"dropped_events\":0}}\n");
    dw_profile_free(profile);
}

static void test_chrome_needs_a_timeline(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(dw_lens_find("chrome")->write(profile, &(struct dw_lens_options){0}, &out),
                     DW_ERR_NO_TIMELINE);
    assert_int_equal(out.buffer.size, 0);
    dw_out_close(&out);
    dw_profile_free(profile);
}

/* The same pid on two hosts, and the same tid twice in a process, are not the same. */
static void test_chrome_keeps_doubles_apart(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_path_id path = fixture_path(profile, "x");
    const struct dw_event enter[] = {{10, DW_EVENT_ENTER, path, 0}};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t process = i % 2 ? i / 2 : fixture_process(profile, 77, i);
        uint32_t thread = fixture_thread(profile, process, 5, "t");
        fixture_events(profile, thread, 0, DW_PATH_ROOT, enter, 1);
    }
    char *text = fixture_show(profile, "chrome", NULL, NULL);
    static const char *const places[] = {
        "\"ph\":\"B\",\"pid\":77,\"tid\":5,", "\"ph\":\"B\",\"pid\":77,\"tid\":4194304,",
        "\"ph\":\"B\",\"pid\":4194304,\"tid\":5,", "\"ph\":\"B\",\"pid\":4194304,\"tid\":4194305,"};
    for (size_t i = 0; i < COUNT_OF(places); i++)
        assert_non_null(strstr(text, places[i]));
    free(text);
    dw_profile_free(profile);
}

static void test_speedscope_evented(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    check_text(profile, "speedscope", NULL,
               "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
               "\"exporter\":\"dwell@" DW_VERSION "\",\"shared\":{\"frames\":[\n"
               "{\"name\":\"<main>\"},\n{\"name\":\"load\"},\n{\"name\":\"parse\"},\n"
               "{\"name\":\"bytes\"},\n{\"name\":\"[…]\"}]},\"profiles\":[\n"
               "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":\"MainThread\","
               "\"events\":[\n"
               "{\"type\":\"O\",\"frame\":1,\"at\":1000000},\n"
               "{\"type\":\"O\",\"frame\":2,\"at\":1500000},\n"
               "{\"type\":\"C\",\"frame\":2,\"at\":2500123},\n"
               "{\"type\":\"C\",\"frame\":1,\"at\":3000000},\n"
               "{\"type\":\"O\",\"frame\":1,\"at\":4000000},\n"
               "{\"type\":\"C\",\"frame\":1,\"at\":5000000}],"
               "\"startValue\":1000000,\"endValue\":5000000}]}\n");
    dw_profile_free(profile);
}

static void test_speedscope_sampled(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_root(profile, thread, 10);
    fixture_entry(profile, thread, fixture_path(profile, "a"), 7);
    fixture_entry(profile, thread, fixture_path(profile, "a/b"), 7);
    char *text = fixture_show(profile, "speedscope", NULL, NULL);
    assert_non_null(strstr(text, "{\"type\":\"sampled\",\"unit\":\"nanoseconds\","
                                 "\"name\":\"MainThread\",\"samples\":[\n[0],\n[0,1,2]],\n"
                                 "\"weights\":[3,7],\"startValue\":0,\"endValue\":10}"));
    free(text);
    dw_profile_free(profile);
}

static void test_json(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    char *text = fixture_show(profile, "json", NULL, NULL);
    assert_true(json_is_valid(text));
    static const char *const parts[] = {
        "{\"pid\": 41, \"start_ns\": 1700000000000000000, \"duration_ns\": 10000000, "
        "\"ended\": true, \"dropped\": 0, \"properties\": {\"argv\": "
        "\"/home/me/train.py --epochs 3\", \"host\": \"node7\"}}",
        "{\"process\": 0, \"tid\": 42, \"name\": \"worker\"}",
        "{\"id\": 2, \"parent\": 1, \"depth\": 2, \"name\": \"parse\", "
        "\"path\": [\"load\", \"parse\"], \"count\": 3, \"open\": 0, \"total_ns\": 3000000,",
        "{\"name\": \"bytes\", \"total\": 300, \"count\": 2}",
        "\"losses\": {\"damaged_parts\": 0, \"damaged_bytes\": 0, \"cut_processes\": 0, "
        "\"dropped_events\": 0}",
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_non_null(strstr(text, parts[i]));
    free(text);
    dw_profile_free(profile);
}

/* Names that break outputs: quotes, separators, control characters, no UTF-8, 10 kB. */
static struct dw_profile *hostile_profile(void)
{
    static char longest[10000];
    memset(longest, 'L', sizeof longest);
    const struct {
        const char *bytes;
        size_t size;
    } names[] = {{"", 0},          {"\"", 1},
                 {"a,b;c", 5},     {"\n\r\t", 3},
                 {"\\u0000\\", 7}, {"\0\x01\x7f", 3},
                 {"\xff\xfe", 2},  {"</script>", 9},
                 {"\xc3\xa9", 2},  {longest, sizeof longest}};
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 1, 0);
    uint32_t thread = fixture_thread(profile, process, 1, "\"\n\xff");
    fixture_property(profile, process, "argv", "\"\n\xff");
    for (uint32_t i = 0; i < COUNT_OF(names); i++) {
        dw_path_id path =
            fixture_child(profile, DW_PATH_ROOT, DW_FRAME_REGION, names[i].bytes, names[i].size);
        dw_path_id counter =
            fixture_child(profile, path, DW_FRAME_COUNTER, names[i].bytes, names[i].size);
        const struct dw_event events[] = {{i * 10u, DW_EVENT_ENTER, path, 0},
                                          {i * 10u + 1, DW_EVENT_COUNTER, counter, INT64_MIN},
                                          {i * 10u + 2, DW_EVENT_EXIT, 0, 0}};
        fixture_entry(profile, thread, path, MS);
        fixture_events(profile, thread, i, DW_PATH_ROOT, events, 3);
    }
    return profile;
}

static bool is_utf8(const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (at < end) {
        size_t length = dw_utf8_length(at, end);
        if (!length)
            return false;
        at += length;
    }
    return true;
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0, size = strlen(part);
    for (; *text; text++)
        count += !strncmp(text, part, size);
    return count;
}

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("it has no: %s", part);
}

static void test_svg(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    char *text = fixture_show(profile, "svg", NULL, NULL);
    check_has(text, "\">11.00 ms in 2 threads; widths are times with what is inside</text>");
    check_has(text, "x=\"0.0000%\" y=\"96\" width=\"63.6364%\" height=\"17\"><title>load\n"
                    "7.000 ms, 63.64 %\nown time 4.000 ms, 36.36 %\ncount 3</title>");
    check_has(text, "y=\"114\" width=\"27.2727%\" height=\"17\"><title>parse\n");
    assert_int_equal(count_of(text, "class=\"box "), 3);
    assert_null(strstr(text, "too narrow"));
    free(text);
    text = fixture_show(profile, "svg", &(struct dw_lens_options){.by = DW_BY_THREAD}, NULL);
    check_has(text, "<title>worker\n5.000 ms, 33.33 %");
    assert_int_equal(count_of(text, "class=\"tree\""), 2);
    free(text);
    dw_profile_free(profile);
}

static void test_svg_merges_what_is_too_narrow(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    dw_path_id outer = fixture_path(profile, "wide");
    char name[32];
    fixture_entry(profile, thread, outer, 300 * MS);
    for (unsigned i = 0; i < 200000; i++) {
        snprintf(name, sizeof name, "narrow %u", i);
        dw_path_id path = fixture_child(profile, outer, DW_FRAME_REGION, name, strlen(name));
        fixture_entry(profile, thread, path, 1000);
    }
    size_t size;
    char *text = fixture_show(profile, "svg", NULL, &size);
    assert_true(size < 20000);
    check_has(text, ">200000 boxes are too narrow or too deep to be drawn; grey ones stand");
    check_has(text,
              "<svg class=\"box rest\" x=\"0.0000%\" y=\"114\" width=\"66.6667%\" "
              "height=\"17\"><title>200000 more that are not drawn\n200.0 ms, 66.67 %</title>");
    free(text);
    dw_profile_free(profile);
}

static void test_svg_of_one_box_too_many(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    dw_path_id path = DW_PATH_ROOT;
    for (unsigned depth = 0; depth < 500; depth++)
        path = fixture_child(profile, path, DW_FRAME_REGION, "link", 4);
    fixture_entry(profile, thread, path, MS);
    char *text = fixture_show(profile, "svg", NULL, NULL);
    check_has(text, "<title>1 more that is not drawn\n");
    check_has(text, ">1 box is too narrow or too deep to be drawn</text>");
    free(text);
    dw_profile_free(profile);
}

/* 1000 chains of 100 regions: all of them are wide enough, and too many for a browser. */
static void test_svg_has_a_bounded_size(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    for (unsigned i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "chain %u", i);
        dw_path_id path = fixture_child(profile, DW_PATH_ROOT, DW_FRAME_REGION, name, strlen(name));
        for (unsigned depth = 1; depth < 100; depth++)
            path = fixture_child(profile, path, DW_FRAME_REGION, "link", 4);
        fixture_entry(profile, thread, path, MS);
    }
    size_t size;
    char *text = fixture_show(profile, "svg", NULL, &size);
    assert_true(size < 8000000);
    assert_int_equal(count_of(text, "class=\"box hue"), 12000);
    assert_int_equal(count_of(text, "class=\"box rest"), 1000);
    check_has(text, "<title>88 more that are not drawn\n1.000 ms, 0.10 %</title>");
    check_has(text, ">88000 boxes are too narrow");
    free(text);
    dw_profile_free(profile);
}

static void test_hostile_names(void **state)
{
    (void)state;
    struct dw_profile *profile = hostile_profile();
    const struct dw_lens *lens;
    fixture_add_lines(profile);
    for (size_t i = 0; (lens = dw_lens_at(i)); i++) {
        size_t size;
        char *text = fixture_show(profile, lens->name, NULL, &size);
        assert_true(lens->binary || is_utf8(text, size));
        if (lens->extension && strstr(lens->extension, "json"))
            assert_true(json_is_valid(text));
        if (!strcmp(lens->name, "table"))
            assert_int_equal(count_lines(text, size), 2 + 11);
        if (!strcmp(lens->name, "collapsed"))
            assert_int_equal(count_lines(text, size), 10);
        free(text);
    }
    dw_profile_free(profile);
}

/* 100,000 deep, entered and measured at every level: linear, not quadratic. */
static void test_deep_path(void **state)
{
    (void)state;
    const uint32_t depth = 100000;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    struct dw_event *events = calloc(depth, sizeof *events);
    dw_path_id path = DW_PATH_ROOT;
    for (uint32_t i = 0; i < depth; i++) {
        path = fixture_child(profile, path, DW_FRAME_REGION, "f", 1);
        events[i] = (struct dw_event){i, DW_EVENT_ENTER, path, 0};
        fixture_open(profile, thread, path, (depth - i) * 2);
    }
    fixture_entry(profile, thread, path, MS);
    fixture_events(profile, thread, 0, DW_PATH_ROOT, events, depth);
    fixture_add_lines(profile);
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++) {
        size_t size;
        char *text = fixture_show(profile, lens->name, NULL, &size);
        assert_true(size < (size_t)depth * 2000);
        assert_true(json_is_valid(text) == (lens->extension && strstr(lens->extension, "json")));
        if (!strcmp(lens->name, "collapsed"))
            assert_non_null(strstr(text, "[… 98976 frames …]"));
        free(text);
    }
    free(events);
    dw_profile_free(profile);
}

static void test_empty_profile(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++)
        if (strcmp(lens->name, "chrome") != 0 && strcmp(lens->name, "perfetto") != 0 &&
            strcmp(lens->name, "lines") != 0)
            free(fixture_show(profile, lens->name, NULL, NULL));
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_columns_and_limit),
        cmocka_unit_test(test_table_tells_losses),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_shares_above_the_whole_are_explained),
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_collapsed_of_the_longest_time),
        cmocka_unit_test(test_chrome),
        cmocka_unit_test(test_chrome_needs_a_timeline),
        cmocka_unit_test(test_chrome_keeps_doubles_apart),
        cmocka_unit_test(test_speedscope_evented),
        cmocka_unit_test(test_speedscope_sampled),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_svg_merges_what_is_too_narrow),
        cmocka_unit_test(test_svg_of_one_box_too_many),
        cmocka_unit_test(test_svg_has_a_bounded_size),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_deep_path),
        cmocka_unit_test(test_empty_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
