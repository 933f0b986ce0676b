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

#define HEADER_RATE                                                                                \
    "CPU time: 10 samples, 1000 Hz asked, 1000 Hz obtained; 3 missed, 2 guessed, 1 cut\n"
#define HEADER_MISSED "missed samples were due and not taken\n"
#define HEADER_GUESSED "guessed samples have native callers that are likely, not certain\n"
#define HEADER_CUT "cut samples lack their outermost functions\n"
#define HEADER_GIL "GIL: held in 30.0 % of the time sampled, waited for in 10.0 %\n"
#define HEADER HEADER_RATE HEADER_MISSED HEADER_GUESSED HEADER_CUT HEADER_GIL
#define HEADER_WHOLE HEADER "percentages are of 10.00 ms, the CPU time of 2 threads\n"
/* The same in a JSON string. */
#define HEADER_TEXT                                                                                \
    "CPU time: 10 samples, 1000 Hz asked, 1000 Hz obtained; 3 missed, 2 guessed, 1 cut\\n"         \
    "missed samples were due and not taken\\n"                                                     \
    "guessed samples have native callers that are likely, not certain\\n"                          \
    "cut samples lack their outermost functions\\n"                                                \
    "GIL: held in 30.0 % of the time sampled, waited for in 10.0 %"

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

static void test_collapsed(void **state)
{
    (void)state;
    check_lens("collapsed", NULL,
               "<main>;main 1000\n"
               "<main>;main;work 3000\n"
               "<main>;main;work;loop;scatter 4000\n"
               "<main>;main;work;work;memcpy 1000\n"
               "<main>;main;<gc> 1000\n");
    check_lens("collapsed", &(struct dw_lens_options){.with_lines = true},
               "<main>;main (app.py:4) 1000\n"
               "<main>;main (app.py:3);work (app.py:6);loop (scatter.c:12);scatter (scatter.c:30) "
               "4000\n"
               "<main>;main (app.py:3);work (app.py:7) 3000\n"
               "<main>;main (app.py:4);work (app.py:6);work (app.py:7);memcpy (python3) 1000\n"
               "<main>;main (app.py:4);<gc> 1000\n");
}

static void test_callgrind(void **state)
{
    (void)state;
    check_lens("callgrind", NULL,
               "# callgrind format\n"
               "version: 1\n"
               "creator: dwell " DW_VERSION "\n"
               "pid: 41\n"
               "cmd: /home/me/app.py\n"
               "# " HEADER_RATE "# " HEADER_MISSED "# " HEADER_GUESSED "# " HEADER_CUT
               "# " HEADER_GIL "positions: line\n"
               "events: ns\n"
               "summary: 10000000\n"
               "\n"
               "ob=(1) ?\?\?\n"
               "fl=(4) /home/me/app.py\n"
               "fn=(2) app:1:main\n"
               "3 0\n"
               "cob=(1)\n"
               "cfi=(4)\n"
               "cfn=(3) app:5:work\n"
               "calls=7 5\n"
               "3 7000000\n"
               "\n"
               "ob=(1)\n"
               "fl=(4)\n"
               "fn=(2)\n"
               "4 1000000\n"
               "cob=(1)\n"
               "cfi=(4)\n"
               "cfn=(3)\n"
               "calls=1 5\n"
               "4 1000000\n"
               "cob=(1)\n"
               "cfi=(1) ?\?\?\n"
               "cfn=(7) <gc>\n"
               "calls=1 0\n"
               "4 1000000\n"
               "\n"
               "ob=(1)\n"
               "fl=(4)\n"
               "fn=(3)\n"
               "6 0\n"
               "cob=(1)\n"
               "cfi=(4)\n"
               "cfn=(3)\n"
               "calls=1 5\n"
               "6 1000000\n"
               "cob=(7) /lib/libwork.so\n"
               "cfi=(12) /src/scatter.c\n"
               "cfn=(4) loop\n"
               "calls=4 10\n"
               "6 4000000\n"
               "\n"
               "ob=(1)\n"
               "fl=(4)\n"
               "fn=(3)\n"
               "7 3000000\n"
               "cob=(8) /usr/bin/python3\n"
               "cfi=(1)\n"
               "cfn=(6) memcpy\n"
               "calls=1 0\n"
               "7 1000000\n"
               "\n"
               "ob=(7)\n"
               "fl=(12)\n"
               "fn=(4)\n"
               "12 0\n"
               "cob=(7)\n"
               "cfi=(12)\n"
               "cfn=(5) scatter\n"
               "calls=4 28\n"
               "12 4000000\n"
               "\n"
               "ob=(7)\n"
               "fl=(12)\n"
               "fn=(5)\n"
               "30 4000000\n"
               "\n"
               "ob=(8)\n"
               "fl=(1)\n"
               "fn=(6)\n"
               "0 1000000\n"
               "\n"
               "ob=(1)\n"
               "fl=(1)\n"
               "fn=(7)\n"
               "0 1000000\n"
               "\n"
               "totals: 10000000\n");
}

static void test_speedscope(void **state)
{
    (void)state;
    check_lens("speedscope", NULL,
               "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
               "\"exporter\":\"dwell@" DW_VERSION "\",\"name\":\"" HEADER_TEXT
               "\",\"shared\":{\"frames\":[\n"
               "{\"name\":\"<main>\"},\n"
               "{\"name\":\"main\",\"file\":\"/home/me/app.py\",\"line\":3},\n"
               "{\"name\":\"main\",\"file\":\"/home/me/app.py\",\"line\":4},\n"
               "{\"name\":\"work\",\"file\":\"/home/me/app.py\",\"line\":6},\n"
               "{\"name\":\"work\",\"file\":\"/home/me/app.py\",\"line\":7},\n"
               "{\"name\":\"loop\",\"file\":\"/src/scatter.c\",\"line\":12},\n"
               "{\"name\":\"scatter\",\"file\":\"/src/scatter.c\",\"line\":30},\n"
               "{\"name\":\"memcpy\",\"file\":\"/usr/bin/python3\"},\n"
               "{\"name\":\"<gc>\"},\n"
               "{\"name\":\"[…]\"}]},\"profiles\":[\n"
               "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"name\":\"MainThread\","
               "\"samples\":[\n"
               "[1,3,5,6],\n"
               "[1,3,5,6],\n"
               "[1,3,5,6],\n"
               "[1,3,5,6],\n"
               "[1,4],\n"
               "[1,4],\n"
               "[2],\n"
               "[2,3,4,7],\n"
               "[2,8]],\n"
               "\"weights\":[1000000,1000000,1000000,1000000,1000000,1000000,1000000,1000000,"
               "1000000],\"startValue\":0,\"endValue\":9000000},\n"
               "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"name\":\"worker\",\"samples\":[\n"
               "[1,4]],\n"
               "\"weights\":[1000000],\"startValue\":0,\"endValue\":1000000}]}\n");
}

static void test_chrome_nests_what_stayed(void **state)
{
    (void)state;
    check_lens("chrome", NULL,
               "{\"traceEvents\":[\n"
               "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":41,\"tid\":0,"
               "\"args\":{\"name\":\"app.py 41\"}},\n"
               "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":41,\"tid\":41,"
               "\"args\":{\"name\":\"MainThread\"}},\n"
               "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":41,\"tid\":42,"
               "\"args\":{\"name\":\"worker\"}},\n"
               "{\"name\":\"main\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":0.000},\n"
               "{\"name\":\"work\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":0.000},\n"
               "{\"name\":\"loop\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":0.000},\n"
               "{\"name\":\"scatter\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":0.000},\n"
               "{\"name\":\"scatter\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":4000.000},\n"
               "{\"name\":\"loop\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":4000.000},\n"
               "{\"name\":\"work\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":6000.000},\n"
               "{\"name\":\"work\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":7000.000},\n"
               "{\"name\":\"work\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":7000.000},\n"
               "{\"name\":\"memcpy\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":7000.000},\n"
               "{\"name\":\"memcpy\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":8000.000},\n"
               "{\"name\":\"work\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":8000.000},\n"
               "{\"name\":\"work\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":8000.000},\n"
               "{\"name\":\"<gc>\",\"ph\":\"B\",\"pid\":41,\"tid\":41,\"ts\":8000.000},\n"
               "{\"name\":\"<gc>\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":9000.000},\n"
               "{\"name\":\"main\",\"ph\":\"E\",\"pid\":41,\"tid\":41,\"ts\":9000.000},\n"
               "{\"name\":\"main\",\"ph\":\"B\",\"pid\":41,\"tid\":42,\"ts\":0.000},\n"
               "{\"name\":\"work\",\"ph\":\"B\",\"pid\":41,\"tid\":42,\"ts\":0.000},\n"
               "{\"name\":\"work\",\"ph\":\"E\",\"pid\":41,\"tid\":42,\"ts\":1000.000},\n"
               "{\"name\":\"main\",\"ph\":\"E\",\"pid\":41,\"tid\":42,\"ts\":1000.000}\n"
               "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"dwell@" DW_VERSION "\","
               "\"start_ns\":1700000000000000000,\"damaged_parts\":0,\"cut_processes\":0,"
               "\"dropped_events\":0,\"sampling\":\"" HEADER_TEXT "\"}}\n");
}

/* The worker's one sample, at `first_ms`, and two more: one of a stack without frames whose time is
 * told 1 ms late, and one that was taken meanwhile. */
static struct dw_profile *told_late(uint64_t first_ms, uint64_t last_ms)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    struct dw_thread *worker = &profile->threads[1];
    struct dw_timed_sample *timed = malloc(3 * sizeof *timed);
    dw_labels_id python = fixture_state(profile, DW_SAMPLE_PYTHON);
    dw_path_id path = worker->timed[0].path;
    uint64_t last_ns = FIXTURE_START_NS + last_ms * 1000000;
    timed[0] =
        (struct dw_timed_sample){FIXTURE_START_NS + first_ms * 1000000, 1000000, path, python};
    timed[1] = (struct dw_timed_sample){last_ns, 2500000, DW_PATH_ROOT, python};
    timed[2] = (struct dw_timed_sample){last_ns, 1000000, path, python};
    free(worker->timed);
    worker->timed = timed;
    worker->timed_count = worker->timed_capacity = 3;
    fixture_sample(profile, 1, path, DW_SAMPLE_PYTHON, 0, 1000000);
    fixture_sample(profile, 1, DW_PATH_ROOT, DW_SAMPLE_PYTHON, 0, 2500000);
    return profile;
}

#define BEGIN(name, time)                                                                          \
    "{\"name\":\"" name "\",\"ph\":\"B\",\"pid\":41,\"tid\":42,\"ts\":" time "},\n"
#define END(name, time) "{\"name\":\"" name "\",\"ph\":\"E\",\"pid\":41,\"tid\":42,\"ts\":" time "}"

static void check_chrome(struct dw_profile *profile, const char *expected)
{
    char *text = fixture_show(profile, "chrome", NULL, NULL);
    assert_non_null(strstr(text, expected));
    free(text);
    dw_profile_free(profile);
}

static void test_samples_make_room_for_time_that_is_told_late(void **state)
{
    (void)state;
    check_chrome(
        told_late(4, 6),
        BEGIN("main", "1500.000") BEGIN("work", "1500.000") END("work", "2500.000") ",\n" END(
            "main", "2500.000") ",\n" BEGIN("[no frames]", "2500.000")
            END("[no frames]", "5000.000") ",\n" BEGIN("main", "5000.000") BEGIN("work", "5000.000")
                END("work", "6000.000") ",\n" END("main", "6000.000") "\n]");
    check_chrome(told_late(1, 3),
                 BEGIN("main", "0.000") BEGIN("work", "0.000") END("work", "1000.000") ",\n" END(
                     "main", "1000.000") ",\n" BEGIN("[no frames]", "1000.000")
                     END("[no frames]", "3500.000") ",\n" BEGIN("main", "3500.000")
                         BEGIN("work", "3500.000")
                             END("work", "4500.000") ",\n" END("main", "4500.000") "\n]");
}

static void test_samples_without_frames_are_part_of_the_whole(void **state)
{
    (void)state;
    struct dw_profile *profile = told_late(4, 6);
    char *text = fixture_show(profile, "callgrind", NULL, NULL);
    assert_non_null(strstr(text, " [no frames]\n0 2500000\n"));
    assert_non_null(strstr(text, "\ntotals: 13500000\n"));
    free(text);
    text = fixture_show(profile, "collapsed", NULL, NULL);
    assert_non_null(strstr(text, "<main>;[no frames] 2500\n"));
    free(text);
    struct dw_view_options options = dw_view_of_samples("function", all);
    struct dw_view view;
    assert_int_equal(dw_view_make(profile, &options, &view), 0);
    assert_int_equal(view.all[0], 13500000);
    dw_view_release(&view);
    dw_profile_free(profile);
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
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_callgrind),
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_chrome_nests_what_stayed),
        cmocka_unit_test(test_samples_make_room_for_time_that_is_told_late),
        cmocka_unit_test(test_samples_without_frames_are_part_of_the_whole),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_counts_are_no_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
