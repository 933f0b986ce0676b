/* SPDX-License-Identifier: MIT
 * Exact output of samples for a small profile: shares, lines, inlined functions, recursion. */
#include "check.h"
#include "fixture.h"
#include "json_check.h"

#include "lens/table/view_report.h"

#include <stdlib.h>
#include <string.h>

static char *report(struct dw_profile *profile, const struct dw_lens *lens,
                    struct dw_view_options view)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    fixture_prepare(profile);
    assert_int_equal(lens->write(profile, &(struct dw_lens_options){.view = &view}, &out), 0);
    dw_out_char(&out, '\0');
    assert_false(out.buffer.failed);
    return (char *)out.buffer.data;
}

static const struct dw_restrictions all = {NULL, 0};

static void check_report(const struct dw_lens *lens, struct dw_view_options view,
                         const char *expected)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    char *text = report(profile, lens, view);
    assert_string_equal(text, expected);
    free(text);
    dw_profile_free(profile);
}

static void check_lens(const char *lens, const struct dw_lens_options *options,
                       const char *expected)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    char *text = fixture_show(profile, lens, options, NULL);
    assert_string_equal(text, expected);
    free(text);
    dw_profile_free(profile);
}

#define HEADER HEADER_RATE HEADER_MISSED HEADER_GUESSED HEADER_CUT HEADER_GIL
#define HEADER_WHOLE HEADER "percentages are of 10.00 ms, the CPU time of 2 threads\n"
static void test_functions(void **state)
{
    (void)state;
    check_report(&dw_view_table, dw_view_of_samples("function", all),
                 HEADER_WHOLE
                 "total %  self %   total s    self s   samples  function\n"
                 "  40.00   40.00     0.004     0.004         4  scatter (scatter.c:28)\n"
                 "  80.00   30.00     0.008     0.003         8  work (app.py:5)\n"
                 " 100.00   10.00     0.010     0.001        10  main (app.py:1)\n"
                 "  10.00   10.00     0.001     0.001         1  <gc>\n"
                 "  10.00   10.00     0.001     0.001         1  memcpy (python3)\n"
                 "  40.00    0.00     0.004     0.000         4  loop (scatter.c:10)\n");
}

static void test_lines_are_split_by_what_was_done(void **state)
{
    (void)state;
    struct dw_view_options view = dw_view_of_samples("line", all);
    view.by_total = true;
    check_report(
        &dw_view_table, view,
        HEADER_WHOLE
        "total %  self %   total s    self s   samples  python s  native s waiting s  line\n"
        "  70.00    0.00     0.007     0.000         7     0.000     0.000     0.000  "
        "app.py:3 (main)\n"
        "  50.00    0.00     0.005     0.000         5     0.000     0.004     0.000  "
        "app.py:6 (work)\n"
        "  40.00   30.00     0.004     0.003         4     0.002     0.001     0.001  "
        "app.py:7 (work)\n"
        "  40.00    0.00     0.004     0.000         4     0.000     0.000     0.000  "
        "scatter.c:12 (loop)\n"
        "  40.00   40.00     0.004     0.004         4     0.000     0.004     0.000  "
        "scatter.c:30 (scatter)\n"
        "  30.00   10.00     0.003     0.001         3     0.001     0.000     0.001  "
        "app.py:4 (main)\n"
        "  10.00   10.00     0.001     0.001         1     0.001     0.000     0.000  <gc>\n"
        "  10.00   10.00     0.001     0.001         1     0.000     0.001     0.000  "
        "python3 (memcpy)\n");
}

static void test_modules_as_csv(void **state)
{
    (void)state;
    struct dw_view_options view = dw_view_of_samples("module", all);
    view.full_paths = true;
    check_report(
        &dw_view_csv, view,
        "module,name,file,lineno,object,cpu,cpu_self,samples,samples_self,python,native,waiting\n"
        "/home/me/app.py,,/home/me/app.py,0,,10000000,4000000,10,4,3000000,5000000,2000000\n"
        "/lib/libwork.so,,,0,/lib/libwork.so,4000000,4000000,4,4,0,4000000,0\n"
        "/usr/bin/python3,,,0,/usr/bin/python3,1000000,1000000,1,1,0,1000000,0\n"
        "<gc>,<gc>,,0,,1000000,1000000,1,1,1000000,0,0\n");
}

static void test_own_times_add_up(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    fixture_prepare(profile);
    for (size_t by = DW_KEY_FUNCTION; by <= DW_KEY_MODULE; by++) {
        struct dw_view_options options = dw_view_of_samples(dw_key_at(by)->name, all);
        struct dw_view view;
        uint64_t self = 0;
        assert_int_equal(dw_view_make(profile, &options, &view), 0);
        for (uint32_t i = 0; i < view.count; i++) {
            self += view.rows[i].numbers[0].self;
            assert_true(view.rows[i].numbers[0].total <= view.all[0]);
        }
        assert_int_equal(self, view.all[0]);
        dw_view_release(&view);
    }
    dw_profile_free(profile);
}

static void test_match_limit_and_names(void **state)
{
    (void)state;
    struct dw_restriction both[] = {{.kind = DW_RESTRICT_PATTERN},
                                    {.kind = DW_RESTRICT_COUNT, .count = 1}};
    assert_int_equal(regcomp(&both[0].pattern, "app[.]py", REG_EXTENDED | REG_NOSUB), 0);
    struct dw_view_options view = dw_view_of_samples("function", (struct dw_restrictions){both, 2});
    view.sort = DW_MEASURES;
    check_report(&dw_view_table, view,
                 HEADER_WHOLE "total %  self %   total s    self s   samples  function\n"
                              " 100.00   10.00     0.010     0.001        10  main (app.py:1)\n"
                              "(1 more)\n");
    regfree(&both[0].pattern);
}

static void test_json(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    char *text = report(profile, &dw_view_json, dw_view_of_samples("line", all));
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"taken\": 10, \"missed\": 3, \"guessed\": 2, \"cut\": 1"));
    assert_non_null(strstr(text, "\"name\": \"scatter\", \"file\": \"/src/scatter.c\", "
                                 "\"lineno\": 30, \"object\": \"/lib/libwork.so\", "));
    free(text);
    dw_profile_free(profile);
}

static void test_table(void **state)
{
    (void)state;
    check_lens("table", NULL,
               HEADER_WHOLE "name                total  % of total      self  samples\n"
                            "---------------  --------  ----------  --------  -------\n"
                            "<main>           10.00 ms     100.00%      0 ns       10\n"
                            ". main           10.00 ms     100.00%  1.000 ms       10\n"
                            ". . work         8.000 ms      80.00%  3.000 ms        8\n"
                            ". . . loop       4.000 ms      40.00%      0 ns        4\n"
                            ". . . . scatter  4.000 ms      40.00%  4.000 ms        4\n"
                            ". . . work       1.000 ms      10.00%      0 ns        1\n"
                            ". . . . memcpy   1.000 ms      10.00%  1.000 ms        1\n"
                            ". . <gc>         1.000 ms      10.00%  1.000 ms        1\n");
}

static void test_tree_of_threads(void **state)
{
    (void)state;
    check_lens("tree", &(struct dw_lens_options){.by = DW_BY_THREAD},
               HEADER "percentages are of each thread's own time\n"
                      "   total   share              samples      self  name\n"
                      "9.000 ms  100.0%  ██████████        9      0 ns  MainThread\n"
                      "9.000 ms  100.0%  ██████████        9  1.000 ms  └─ main\n"
                      "7.000 ms   77.8%  ███████▊          7  2.000 ms     ├─ work\n"
                      "4.000 ms   44.4%  ████▌             4      0 ns     │  ├─ loop\n"
                      "4.000 ms   44.4%  ████▌             4  4.000 ms     │  │  └─ scatter\n"
                      "1.000 ms   11.1%  █▏                1      0 ns     │  └─ work\n"
                      "1.000 ms   11.1%  █▏                1  1.000 ms     │     └─ memcpy\n"
                      "1.000 ms   11.1%  █▏                1  1.000 ms     └─ <gc>\n"
                      "1.000 ms  100.0%  ██████████        1      0 ns  worker\n"
                      "1.000 ms  100.0%  ██████████        1      0 ns  └─ main\n"
                      "1.000 ms  100.0%  ██████████        1  1.000 ms     └─ work\n");
}

/* Shares below a third are left out, and the three that only call the next are one row. */
static void test_tree_without_what_is_small(void **state)
{
    (void)state;
    check_lens("tree", &(struct dw_lens_options){.threshold = 0.33, .width = 80},
               HEADER_WHOLE "   total   share  samples      self  name\n"
                            "10.00 ms  100.0%       10      0 ns  <main>\n"
                            "10.00 ms  100.0%       10  3.000 ms  └ main > work\n"
                            "4.000 ms   40.0%        4  4.000 ms    └ loop > scatter\n"
                            "(3 more of less than 33 % each, together 2.000 ms)\n");
}

static void test_names_are_cut_to_the_width(void **state)
{
    (void)state;
    static const char long_name[] = "a_function_whose_name_has_no_end_and_goes_on_and_on";
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 1, 0), 1, "MainThread");
    fixture_root(profile, thread, 2000000);
    fixture_entry(profile, thread, fixture_path(profile, long_name), 1000000);
    const size_t widths[] = {80, 120};
    const char *const last[] = {"└ a_function_wh…s_no_end_and_goes_on_and_on\n",
                                "└─ a_function_whose_name_has_no_end_and_goes_on_and_on\n"};
    for (size_t i = 0; i < 2; i++) {
        char *text =
            fixture_show(profile, "tree", &(struct dw_lens_options){.width = widths[i]}, NULL);
        assert_non_null(strstr(text, last[i]));
        free(text);
    }
    dw_profile_free(profile);
}

static void test_a_row_for_each_thread(void **state)
{
    (void)state;
    check_lens("table", &(struct dw_lens_options){.by = DW_BY_THREAD},
               HEADER_WHOLE "name           total  % of total  samples\n"
                            "----------  --------  ----------  -------\n"
                            "MainThread  9.000 ms      90.00%        9\n"
                            "worker      1.000 ms      10.00%        1\n");
}

/* All samples of the second thread waited, and one of nine of the first. */
static void test_idle_threads_are_marked(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_WALL);
    struct dw_thread *worker = &profile->threads[1];
    worker->values.rows[0].labels = fixture_state(profile, DW_SAMPLE_WAITING);
    *dw_value_at(&worker->values, &worker->values.rows[0], DW_WALL) = 50000000;
    char *text = report(profile, &dw_view_table, dw_view_of_samples("function", all));
    assert_non_null(strstr(text, "idle: 1 of 2 threads only waited"));
    const char *busy = strstr(text, " scatter ("),
               *partly = strstr(text, " work (app.py:5) (partly idle)\n");
    assert_true(busy && partly && busy < partly); /* its own time: 4 ms of 52 */
    free(text);
    text = fixture_show(profile, "table", &(struct dw_lens_options){.by = DW_BY_THREAD}, NULL);
    assert_non_null(strstr(text, "\nworker (idle)  "));
    assert_non_null(strstr(text, "\nMainThread  "));
    free(text);
    dw_profile_free(profile);
}

static void test_unnamed_code_of_an_extension_has_the_module_s_name(void **state)
{
    (void)state;
    static const char path[] = "/x/site-packages/a/_b/c.cpython-313-x86_64-linux-gnu.so";
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    struct dw_frame *copy = NULL;
    for (dw_frame_id i = 0; i < profile->frames.count; i++)
        if (!strcmp(dw_profile_string(profile, profile->frames.frames[i].name).bytes, "memcpy"))
            copy = &profile->frames.frames[i];
    assert_non_null(copy);
    assert_int_equal(dw_string_intern(&profile->strings, path, strlen(path), &copy->file), 0);
    profile->modules[1].path = copy->file;
    assert_int_equal(dw_string_intern(&profile->strings, "[c.so]", 6, &copy->name), 0);
    char *text = report(profile, &dw_view_table, dw_view_of_samples("function", all));
    assert_non_null(strstr(text, "  a._b.c\n"));
    free(text);
    dw_profile_free(profile);
}

static void test_csv(void **state)
{
    (void)state;
    check_lens("csv", NULL,
               "id,name,parent_id,parent_name,total_us,self_us,samples\n"
               "0,<main>,,,10000,0,10\n"
               "1,main,0,<main>,10000,1000,10\n"
               "2,work,1,main,8000,3000,8\n"
               "3,loop,2,work,4000,0,4\n"
               "4,scatter,3,loop,4000,4000,4\n"
               "5,work,2,work,1000,0,1\n"
               "6,memcpy,5,work,1000,1000,1\n"
               "7,<gc>,1,main,1000,1000,1\n");
}

/* The listing shows the text beside the columns that samples fill. */
static void test_listing(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    fixture_source(profile, "/home/me/app.py",
                   "def main():\n    # all of it\n    work(0)\n    work(1)\n"
                   "def work(n):\n    scatter()\n    return n\n");
    char *text = fixture_show(profile, "lines", NULL, NULL);
    assert_non_null(strstr(text, HEADER "Timer unit: 1e-06 s\n\nTotal time: 0.01 s\n"
                                        "File: /home/me/app.py\nFunction: main at line 1\n"));
    assert_non_null(
        strstr(text, "Line #   Samples        Total  % Total       Python       Native      Waiting"
                     "         Self  Line Contents\n"));
    assert_non_null(
        strstr(text, "     4         3       3000.0     30.0       1000.0                    1000.0"
                     "       1000.0      work(1)\n"));
    free(text);
    dw_profile_free(profile);
}

/* Numbers that stand for no known time are never told as times. */
static void test_counts_are_no_times(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_COUNTS);
    static const char *const lenses[] = {"table", "tree",      "lines",     "csv",
                                         "svg",   "collapsed", "callgrind", "speedscope"};
    for (size_t i = 0; i < COUNT_OF(lenses); i++) {
        char *text = fixture_show(profile, lenses[i], NULL, NULL);
        assert_null(strstr(text, " ns"));
        assert_null(strstr(text, "nanoseconds"));
        assert_null(strstr(text, "Timer unit"));
        assert_null(strstr(text, "_us"));
        free(text);
    }
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = 1};
    char *text = report(profile, &dw_view_table,
                        dw_view_of_samples("function", (struct dw_restrictions){&first, 1}));
    assert_string_equal(
        text, "counts: 10 samples, of which it is not known how long they stand for\n" HEADER_GIL
              "total %  self %   samples      self  function\n"
              "  40.00   40.00         4         4  scatter (scatter.c:28)\n"
              "(5 more)\n");
    free(text);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_lines_are_split_by_what_was_done),
        cmocka_unit_test(test_modules_as_csv),
        cmocka_unit_test(test_own_times_add_up),
        cmocka_unit_test(test_match_limit_and_names),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_tree_of_threads),
        cmocka_unit_test(test_tree_without_what_is_small),
        cmocka_unit_test(test_names_are_cut_to_the_width),
        cmocka_unit_test(test_a_row_for_each_thread),
        cmocka_unit_test(test_idle_threads_are_marked),
        cmocka_unit_test(test_unnamed_code_of_an_extension_has_the_module_s_name),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_counts_are_no_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
