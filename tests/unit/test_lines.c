/* SPDX-License-Identifier: MIT
 * Reports of lines: the exact text, and what becomes of odd tables and sources. */
#include "check.h"
#include "fixture.h"

#include "base/error.h"
#include "json_check.h"
#include "lens/view/functions.h"
#include "lens/view/line_list.h"

#include <stdlib.h>
#include <string.h>

#define US 1000u
#define MS 1000000u
#define S 1000000000u

static const char holography[] = "import numpy as np\n"
                                 "\n"
                                 "class UDF:\n"
                                 "    def process(self, frame):\n"
                                 "        \"\"\"\n"
                                 "Not indented.\n"
                                 "        \"\"\"\n"
                                 "        if not self.precision:\n"
                                 "            frame = frame.astype(float)\n"
                                 "        # transform\n"
                                 "        wave = fft2(frame)\n"
                                 "\n"
                                 "        self.wave[:] = wave\n"
                                 "\n"
                                 "\n"
                                 "def later():\n"
                                 "\treturn {\n"
                                 "\t\t'a': 1}\n";

/* A method that ran and a function that did not. */
static struct dw_profile *make_holography(dw_frame_id *process)
{
    struct dw_profile *profile = fixture_new();
    *process = fixture_function(profile, "/src/udf.py", 4, "UDF.process");
    dw_frame_id later = fixture_function(profile, "/src/udf.py", 16, "later");
    fixture_line(profile, later, 17, 0, 0);
    fixture_line(profile, *process, 13, 16, 364 * US);
    fixture_line(profile, *process, 8, 16, 154 * US);
    fixture_line(profile, *process, 9, 0, 0);
    fixture_line(profile, *process, 11, 16, 59291808ull * US);
    fixture_line(profile, *process, 0, 16, 0);
    fixture_source(profile, "/src/udf.py", holography);
    return profile;
}

static void check_text(struct dw_profile *profile, const struct dw_line_options *lines,
                       const char *expected)
{
    struct dw_lens_options options = {.lines = lines};
    char *text = fixture_show(profile, "lines", &options, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void check_contains(struct dw_profile *profile, const struct dw_line_options *lines,
                           const char *part)
{
    struct dw_lens_options options = {.lines = lines};
    char *text = fixture_show(profile, "lines", &options, NULL);
    if (!strstr(text, part))
        fail_msg("no \"%s\" in\n%s", part, text);
    free(text);
}

static void test_layout(void **state)
{
    (void)state;
    dw_frame_id process;
    struct dw_profile *profile = make_holography(&process);
    check_text(
        profile, NULL,
        "Timer unit: 1e-06 s\n"
        "\n"
        "Total time: 59.2923 s\n"
        "File: /src/udf.py\n"
        "Function: UDF.process at line 4\n"
        "\n"
        "Line #      Hits         Time  Per Hit   % Time  Line Contents\n"
        "==============================================================\n"
        "     4                                               def process(self, frame):\n"
        "     5                                                   \"\"\"\n"
        "     6                                           Not indented.\n"
        "     7                                                   \"\"\"\n"
        "     8        16        154.0      9.6      0.0          if not self.precision:\n"
        "     9         0                                             frame = frame.astype(float)\n"
        "    10                                                   # transform\n"
        "    11        16   59291808.0 3.71e+06    100.0          wave = fft2(frame)\n"
        "    12                                           \n"
        "    13        16        364.0     22.8      0.0          self.wave[:] = wave\n"
        "\n"
        "Total time: 0 s\n"
        "File: /src/udf.py\n"
        "Function: later at line 16\n"
        "\n"
        "Line #      Hits         Time  Per Hit   % Time  Line Contents\n"
        "==============================================================\n"
        "    16                                           def later():\n"
        "    17         0                                         return {\n"
        "    18                                                           'a': 1}\n"
        "\n");
    dw_profile_free(profile);
}

static void test_options(void **state)
{
    (void)state;
    dw_frame_id process;
    struct dw_profile *profile = make_holography(&process);
    struct dw_line_options options = {.unit_s = 1, .summarize = true, .strip_zeros = true};
    check_text(profile, &options,
               "Timer unit: 1 s\n\n 59.29 seconds - /src/udf.py:4 - UDF.process\n");
    options = (struct dw_line_options){.unit_s = 1e-3, .sort = true};
    check_text(profile, &options,
               "Timer unit: 0.001 s\n\n  0.00 seconds - /src/udf.py:16 - later\n"
               " 59.29 seconds - /src/udf.py:4 - UDF.process\n");
    options = (struct dw_line_options){.unit_s = 1e-3, .details = true, .strip_zeros = true};
    check_contains(profile, &options,
                   "    11        16      59291.8   3705.7    100.0          wave = fft2(frame)\n");
    struct dw_restriction match = {.kind = DW_RESTRICT_PATTERN};
    assert_int_equal(regcomp(&match.pattern, "udf.py:16\\(la", REG_EXTENDED | REG_NOSUB), 0);
    options = (struct dw_line_options){.unit_s = 1, .restrictions = {&match, 1}};
    check_text(profile, &options, "Timer unit: 1 s\n\n  0.00 seconds - /src/udf.py:16 - later\n");
    regfree(&match.pattern);
    dw_profile_free(profile);
}

static void test_callees_and_extra_columns(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id fib = fixture_function(profile, "fib.py", 1, "fib");
    dw_frame_id check = fixture_function(profile, "fib.py", 9, "check");
    fixture_source(profile, "fib.py", "def fib(n):\n    check(n)\n    return fib(n - 1)\n");
    fixture_line(profile, fib, 2, 3, 30 * US)->values[DW_LINE_SELF] = 9 * US;
    fixture_line(profile, fib, 3, 3, 6 * US)->values[DW_LINE_INCLUSIVE] = 26 * US;
    fixture_line(profile, fib, 3, 3, 6 * US)->values[DW_LINE_INCLUSIVE] = 26 * US;
    fixture_callee(profile, fib, 3, fib, 2, 1 * US);
    fixture_callee(profile, fib, 2, fib, 1, 1 * US);
    fixture_callee(profile, fib, 2, check, 3, 20 * US);
    dw_line_get(&profile->lines, fib, 2, 0)->values[DW_LINE_SUSPENDED] = 5 * US;
    struct dw_line_options options = {.unit_s = 1e-6, .details = true, .callees = true};
    check_text(profile, &options,
               "Timer unit: 1e-06 s\n"
               "\n"
               "Total time: 3.6e-05 s\n"
               "File: fib.py\n"
               "Function: fib at line 1\n"
               "\n"
               "Line #      Hits         Time  Per Hit   % Time    Inclusive         Self"
               "    Suspended  Line Contents\n"
               "========================================================================="
               "============================\n"
               "     1                                                                   "
               "               def fib(n):\n"
               "     2         3         30.0     10.0     83.3         30.0          9.0"
               "          5.0      check(n)\n"
               "               3         20.0      6.7                  20.0         20.0"
               "                     -> check\n"
               "               1          1.0      1.0                   1.0          1.0"
               "                     -> fib\n"
               "     3         3          6.0      2.0     16.7         26.0          6.0"
               "                   return fib(n - 1)\n"
               "               2          1.0      0.5                   1.0          1.0"
               "                     -> fib\n"
               "\n");
    dw_profile_free(profile);
}

static void test_missing_source(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "gone.py", 1, "f");
    fixture_line(profile, function, 4000000000u, 1, 0);
    fixture_line(profile, function, 2, 1, 0);
    check_text(profile, NULL,
               "Timer unit: 1e-06 s\n"
               "\n"
               "Total time: 0 s\n"
               "File: gone.py\n"
               "Function: f at line 1\n"
               "The recording does not have the text of this file: lines are shown without it.\n"
               "\n"
               "    Line #      Hits         Time  Per Hit   % Time  Line Contents\n"
               "==================================================================\n"
               "         2         1          0.0      0.0           \n"
               "4000000000         1          0.0      0.0           \n"
               "\n");
    dw_profile_free(profile);
}

static void test_source_that_ends_too_early(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "cut.py", 2, "f");
    fixture_line(profile, function, 3, 1, US);
    fixture_line(profile, function, 90, 1, US);
    fixture_source(profile, "cut.py", "\ndef f():\n    a = 1\n");
    check_contains(profile, NULL, "The source that was found ends before the function does.\n");
    check_contains(profile, NULL,
                   "     2                                           def f():\n"
                   "     3         1          1.0      1.0     50.0      a = 1\n"
                   "    90         1          1.0      1.0     50.0  \n");
    dw_profile_free(profile);
}

static void test_sources_that_differ(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "x.py", 1, "f");
    fixture_line(profile, function, 1, 1, US);
    fixture_source(profile, "x.py", "def f(): one\n");
    fixture_source(profile, "x.py", "def f(): one\n");
    check_contains(profile, NULL, "Function: f at line 1\n\n");
    fixture_source(profile, "x.py", "def f(): two\n");
    check_contains(profile, NULL, "The file changed between the recordings");
    check_contains(profile, NULL, "100.0  def f(): one\n");
    dw_profile_free(profile);
}

static void test_any_bytes_in_names_and_text(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "a\nb.py", 1, "f\x1b[31m\xff");
    fixture_line(profile, function, 1, 1, US);
    fixture_source(profile, "a\nb.py", "x\x1b[2J\x01\ty\xff\n");
    check_contains(profile, NULL, "File: a\\nb.py\nFunction: f\\x1b[31m\xef\xbf\xbd at line 1\n");
    check_contains(profile, NULL, "100.0  x\\x1b[2J\\x01    y\xef\xbf\xbd\n");
    dw_profile_free(profile);
}

static void test_large_numbers(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "big.py", 1, "f");
    fixture_line(profile, function, 1, UINT64_MAX, UINT64_MAX);
    fixture_line(profile, function, 2, 1, 123456789ull * S);
    check_contains(profile, NULL,
                   "Line #                 Hits         Time  Per Hit   % Time  Line Contents\n");
    check_contains(profile, NULL, "     1 18446744073709551615     1.84e+16      0.0");
    check_contains(profile, NULL, "     2                    1     1.23e+14 1.23e+14");
    dw_profile_free(profile);
}

static void test_rows_that_no_program_writes(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id function = fixture_function(profile, "x.py", 3, "f");
    fixture_source(profile, "x.py", "a\nb\ndef f():\n    c\n");
    fixture_line(profile, function, 1, 1, US);
    fixture_line(profile, 0, 2, 0, US);
    fixture_callee(profile, function, 4, function, 1, US);
    fixture_callee(profile, function, 0, function, 1, US);
    struct dw_line_options options = {.unit_s = 1e-6, .details = true, .callees = true};
    check_contains(profile, &options,
                   "     1         1          1.0      1.0    100.0          1.0  a\n"
                   "     3                                                        def f():\n"
                   "     4                                                            c\n"
                   "               1          1.0      1.0                   1.0        -> f\n");
    check_contains(profile, &options, "     2         0          1.0             100.0");
    dw_profile_free(profile);
}

static void test_losses_are_told(void **state)
{
    (void)state;
    dw_frame_id process;
    struct dw_profile *profile = make_holography(&process);
    struct dw_line_options options = {.unit_s = 1, .strip_zeros = true};
    profile->losses.damaged_chunks = 1;
    profile->losses.damaged_bytes = 77;
    check_text(profile, &options,
               "Timer unit: 1 s\n\n 59.29 seconds - /src/udf.py:4 - UDF.process\n"
               "1 damaged part (77 bytes) was skipped\n");
    dw_profile_free(profile);
}

static char *write_data(const struct dw_profile *profile, const struct dw_lens *lens)
{
    struct dw_line_options lines = {.callees = true};
    struct dw_lens_options options = {.lines = &lines};
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(lens->write(profile, &options, &out), 0);
    dw_out_char(&out, '\0');
    return (char *)out.buffer.data;
}

static void test_csv(void **state)
{
    (void)state;
    dw_frame_id process;
    struct dw_profile *profile = make_holography(&process);
    static const char expected[] =
        "function,file,lineno,line,callee,callee_file,callee_lineno,hits,time,per_hit,percent_time,"
        "inclusive,self,suspended,source\n"
        "UDF.process,/src/udf.py,4,0,,,0,16,59292326000,3705770375.0000,100.0000,59292326000,"
        "59292326000,0,\n"
        "UDF.process,/src/udf.py,4,8,,,0,16,154000,9625.0000,0.0003,154000,154000,0,"
        "        if not self.precision:\n"
        "UDF.process,/src/udf.py,4,9,,,0,0,0,,0.0000,0,0,0,"
        "            frame = frame.astype(float)\n"
        "UDF.process,/src/udf.py,4,11,,,0,16,59291808000,3705738000.0000,99.9991,59291808000,"
        "59291808000,0,        wave = fft2(frame)\n"
        "UDF.process,/src/udf.py,4,13,,,0,16,364000,22750.0000,0.0006,364000,364000,0,"
        "        self.wave[:] = wave\n"
        "later,/src/udf.py,16,0,,,0,,0,,,0,0,0,\n"
        "later,/src/udf.py,16,17,,,0,0,0,,,0,0,0,\treturn {\n";
    char *text = write_data(profile, &dw_line_csv);
    assert_string_equal(text, expected);
    char *exported = fixture_show(profile, "csv", NULL, NULL); /* it holds nothing but lines */
    assert_string_equal(exported, text);
    free(exported);
    free(text);
    dw_profile_free(profile);
}

static void test_json(void **state)
{
    (void)state;
    dw_frame_id process;
    struct dw_profile *profile = make_holography(&process);
    fixture_callee(profile, process, 11, process, 2, 3 * US);
    char *text = write_data(profile, &dw_line_json);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(
        text,
        "{\"function\": \"UDF.process\", \"file\": \"/src/udf.py\", \"lineno\": 4, \"line\": 0, "
        "\"callee\": \"\", \"callee_file\": \"\", \"callee_lineno\": 0, \"hits\": 16, "
        "\"time\": 59292326000, "));
    assert_non_null(strstr(text, "\"line\": 11, \"callee\": \"\", \"callee_file\": \"\", "
                                 "\"callee_lineno\": 0, \"hits\": 16, \"time\": 59291808000, "
                                 "\"per_hit\": 3705738000.0000, \"percent_time\": 99.9991, "));
    assert_non_null(strstr(text, "\"source\": \"        wave = fft2(frame)\"}"));
    assert_non_null(strstr(text,
                           "\"line\": 11, \"callee\": \"UDF.process\", \"callee_file\": "
                           "\"/src/udf.py\", \"callee_lineno\": 4, \"hits\": 2, \"time\": 3000, "
                           "\"per_hit\": 1500.0000, \"percent_time\": null, "));
    assert_non_null(strstr(text, "\"losses\": {\"damaged_parts\": 0"));
    free(text);
    text = fixture_show(profile, "json", NULL, NULL);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"lines\": [\n    {\"function\": \"UDF.process\""));
    free(text);
    dw_profile_free(profile);
}

static void test_recording_without_lines(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    struct dw_lens_options options = {0};
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(dw_lens_lines.write(profile, &options, &out), DW_ERR_NO_LINES);
    assert_false(dw_lines_are_in(profile) || dw_lines_are_all(profile));
    dw_out_close(&out);
    dw_profile_free(profile);
}

/* Lines are no calls: the functions that have them do not make a table of functions. */
static void test_lines_beside_regions(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_add_lines(profile);
    assert_true(dw_lines_are_in(profile));
    assert_false(dw_lines_are_all(profile));
    assert_false(dw_functions_are_in(profile));
    char *text = fixture_show(profile, "csv", NULL, NULL);
    assert_non_null(strstr(text, ",parse,"));
    free(text);
    dw_profile_free(profile);
}

/* A place of the function under a path: a line, or the function as a whole. */
static dw_path_id step_to(struct dw_profile *profile, dw_path_id parent, dw_frame_id frame,
                          uint32_t line)
{
    return fixture_step(profile, parent, (struct dw_place){.frame = frame, .line = line});
}

/* A line is a place under the root, what it calls one under it, and threads add up. */
static void test_rows_become_lines(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 7, 0);
    dw_frame_id f = fixture_function(profile, "/src/f.py", 1, "f");
    dw_frame_id g = fixture_function(profile, "/src/f.py", 9, "g");
    dw_path_id whole = step_to(profile, DW_PATH_ROOT, f, 0);
    dw_path_id line = step_to(profile, DW_PATH_ROOT, f, 2);
    dw_path_id callee = step_to(profile, line, g, 0);
    for (uint64_t tid = 1; tid <= 2; tid++) {
        uint32_t thread = fixture_thread(profile, process, tid, "thread");
        fixture_add(profile, thread, whole, DW_LINE_CALLS, 3);
        fixture_add(profile, thread, line, DW_HITS, 5 * tid);
        fixture_add(profile, thread, line, DW_HIT_TIME, 100);
        fixture_add(profile, thread, line, DW_HIT_SUSPENDED, 7);
        fixture_add(profile, thread, callee, DW_CALLEE_CALLS, 4);
        fixture_add(profile, thread, callee, DW_CALLEE_TIME, 60);
        fixture_entry(profile, thread, whole, 50); /* of the probe of calls */
    }
    fixture_prepare(profile);
    const struct dw_line *rows[] = {dw_line_get(&profile->lines, f, 0, 0),
                                    dw_line_get(&profile->lines, f, 2, 0),
                                    dw_line_get(&profile->lines, f, 2, g)};
    assert_int_equal(profile->lines.count, 3);
    assert_int_equal(rows[0]->values[DW_LINE_HITS], 6);
    assert_int_equal(rows[1]->values[DW_LINE_HITS], 15);
    assert_int_equal(rows[1]->values[DW_LINE_TIME], 200);
    assert_int_equal(rows[1]->values[DW_LINE_SUSPENDED], 14);
    assert_int_equal(rows[2]->values[DW_LINE_HITS], 8);
    assert_int_equal(rows[2]->values[DW_LINE_TIME], 120);
    dw_profile_free(profile);
}

/* As HTML the report has the same text, escaped, and a colour behind what takes time. */
static void test_heat(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    dw_frame_id f = fixture_function(profile, "/src/f.py", 1, "<f>");
    fixture_line(profile, f, 2, 3, 750 * US);
    fixture_line(profile, f, 3, 3, 250 * US);
    fixture_source(profile, "/src/f.py", "def f():\n    a < b & c\n    pass\n");
    struct dw_line_options lines = dw_line_defaults;
    lines.heat = true;
    struct dw_lens_options options = {.lines = &lines};
    char *text = fixture_show(profile, "lines", &options, NULL);
    assert_non_null(strstr(text, "Function: &lt;f&gt; at line 1\n"));
    assert_non_null(strstr(text, "rgba(255,96,0,0.41)\">     2         3        750.0    250.0"
                                 "     75.0      a &lt; b &amp; c</span>\n"));
    assert_non_null(strstr(text, "rgba(255,96,0,0.14)\">     3"));
    assert_non_null(strstr(text, "  def f():\n"));
    assert_memory_equal(text, "<pre style=", 11);
    assert_string_equal(text + strlen(text) - 6, "</pre>");
    free(text);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_callees_and_extra_columns),
        cmocka_unit_test(test_missing_source),
        cmocka_unit_test(test_source_that_ends_too_early),
        cmocka_unit_test(test_sources_that_differ),
        cmocka_unit_test(test_any_bytes_in_names_and_text),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_rows_that_no_program_writes),
        cmocka_unit_test(test_losses_are_told),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_recording_without_lines),
        cmocka_unit_test(test_lines_beside_regions),
        cmocka_unit_test(test_rows_become_lines),
        cmocka_unit_test(test_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
