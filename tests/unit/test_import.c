/* SPDX-License-Identifier: MIT
 * Profiles of other tools: what they hold, and that nothing in them does harm. */
#include "check.h"
#include "fixture_import.h"

#include "base/error.h"
#include "lens/table/view_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4000

static const char folded[] = "# by some tool\n"
                             "main;load (x.py:3);parse 10\n"
                             "main;load (x.py:4) 20\n"
                             "main;work;sys_read_[k] 5\n"
                             "main;work;work;work 15\n";

static const char perf[] = "# ========\n"
                           "python3 12/13 [001]  100.5:     250000 cpu-clock:pppH: \n"
                           "\t    7f01 do_it+0x10 (/usr/lib/libwork.so)\n"
                           "\t    7f02 operator()(int, char) const+0x1 (/usr/lib/libwork.so)\n"
                           "\t    7e01 py::run:/home/x/app.py (/tmp/perf-12.map)\n"
                           "\t    55aa [unknown] (/usr/bin/python3)\n"
                           "\n"
                           "my prog 7 14 [001]  100.6:     750000 cpu-clock:pppH: \n"
                           "\tffffffff81 __schedule+0x3 ([kernel.kallsyms])\n"
                           "\t    55aa main+0x1 (/usr/bin/python3)\n"
                           "\n";

static const char cycles[] = "prog 5 100.5: 123456 cycles: \n"
                             "\t    7f01 a (/bin/prog)\n"
                             "\n"
                             "prog 5 100.6: 98765 cycles: \n"
                             "\t    7f01 a (/bin/prog)\n";

static const char mprof[] = "CMDLINE python example.py --fast\n"
                            "MEM 10.500000 1700000000.0000\n"
                            "MEM 170.250000 1700000000.1000\n"
                            "CHLD 77 5.000000 1700000000.1500\n"
                            "FUNC __main__.inner 60.0 1700000000.0300 90.0 1700000000.0700 1\n"
                            "FUNC __main__.my_func 10.5 1700000000.0100 18.0 1700000000.1900 0\n"
                            "nonsense\n"
                            "MEM 18.000000 1700000000.2000\n"
                            "CHLD 77 6.000000 1700000000.2500\n";

static const uint64_t gperftools[] = {
    0, 3, 0, 10000, 0, 5, 3, 0x401010, 0x7f0000001235, 0x7f0000002001, 7, 1, 0x401020, 0, 1, 0};
static const char maps[] =
    "00400000-00500000 r-xp 00000000 08:01 123                 /nowhere/python3.13\n"
    "7f0000000000-7f0000010000 r-xp 00001000 08:01 124 /nowhere/lib with spaces.so.1\n"
    "7f0000010000-7f0000020000 rw-p 00011000 08:01 124 /nowhere/lib with spaces.so.1\n"
    "7fff00000000-7fff00001000 r-xp 00000000 00:00 0 \n";

struct bytes {
    char data[sizeof gperftools + sizeof maps];
    size_t size;
};

static struct bytes gperftools_file(void)
{
    struct bytes bytes = {.size = sizeof gperftools + sizeof maps - 1};
    memcpy(bytes.data, gperftools, sizeof gperftools);
    memcpy(bytes.data + sizeof gperftools, maps, sizeof maps - 1);
    return bytes;
}

static void check_report(const void *bytes, size_t size, const char *expected)
{
    struct dw_profile *profile = fixture_import(bytes, size);
    struct dw_view_options view = dw_view_of_samples("function", (struct dw_restrictions){NULL, 0});
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(dw_view_table.write(profile, &(struct dw_lens_options){.view = &view}, &out),
                     0);
    dw_out_char(&out, '\0');
    assert_string_equal((char *)out.buffer.data, expected);
    dw_out_close(&out);
    dw_profile_free(profile);
}

static void test_mprof_becomes_series_and_a_timeline(void **state)
{
    struct dw_profile *profile = fixture_import(mprof, sizeof mprof - 1);
    (void)state;
    assert_int_equal(profile->process_count, 2);
    assert_int_equal(profile->losses.damaged_chunks, 1);
    assert_string_equal(dw_profile_property(profile, 0, "program").bytes,
                        "python example.py --fast");
    const struct dw_series *parent = dw_series_find(profile, 0, "rss");
    const struct dw_series *child = dw_series_find(profile, 1, "rss");
    assert_int_equal(parent->count, 3);
    assert_int_equal(parent->points[1].value, (int64_t)(170.25 * 1048576));
    assert_true(parent->points[1].time_ns == UINT64_C(1700000000100000000));
    assert_int_equal(profile->processes[1].pid, 77);
    assert_int_equal(child->count, 2);
    assert_int_equal(child->points[1].value, 6 << 20);
    char *tree = fixture_show(profile, "chrome", NULL, NULL);
    const char *outer = strstr(tree, "__main__.my_func"), *inner = strstr(tree, "__main__.inner");
    assert_non_null(outer);
    assert_non_null(inner);
    assert_true(outer < inner);
    free(tree);
    dw_profile_free(profile);
}

static void test_collapsed_stacks_are_counts(void **state)
{
    (void)state;
    check_report(folded, sizeof folded - 1,
                 "counts: 50 samples, of which it is not known how long they stand for\n"
                 "total %  self %   samples      self  function\n"
                 "  60.00   40.00        30        20  load (x.py)\n"
                 "  40.00   30.00        20        15  work\n"
                 "  20.00   20.00        10        10  parse\n"
                 "  10.00   10.00         5         5  sys_read\n"
                 " 100.00    0.00        50         0  main\n");
}

static void test_collapsed_stacks_come_back_the_same(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_import(folded, sizeof folded - 1);
    char *text =
        fixture_show(profile, "collapsed", &(struct dw_lens_options){.with_lines = true}, NULL);
    struct dw_profile *again = fixture_import(text, strlen(text));
    char *same =
        fixture_show(again, "collapsed", &(struct dw_lens_options){.with_lines = true}, NULL);
    assert_non_null(strstr(text, "<main>;main;load (x.py:3);parse 10\n"));
    assert_string_equal(text, same);
    free(text);
    free(same);
    dw_profile_free(profile);
    dw_profile_free(again);
}

static void test_perf_script_of_a_clock_has_times(void **state)
{
    (void)state;
    check_report(perf, sizeof perf - 1,
                 "CPU time: 2 samples, 4000 Hz asked, 2000 Hz obtained\n"
                 "percentages are of 1.000 ms, the CPU time of 2 threads\n"
                 "total %  self %   total s    self s   samples  function\n"
                 "  75.00   75.00     0.001     0.001         1  __schedule ([kernel.kallsyms])\n"
                 "  25.00   25.00     0.000     0.000         1  do_it (libwork.so)\n"
                 "  75.00    0.00     0.001     0.000         1  main (python3)\n"
                 "  25.00    0.00     0.000     0.000         1  [python3]\n"
                 "  25.00    0.00     0.000     0.000         1  operator()(int, char) const "
                 "(libwork.so)\n"
                 "  25.00    0.00     0.000     0.000         1  run (app.py)\n");
}

static void test_perf_script_tells_processes_apart(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_import(perf, sizeof perf - 1);
    assert_int_equal(profile->process_count, 2);
    assert_int_equal(profile->processes[0].pid, 12);
    assert_int_equal(profile->threads[0].tid, 13);
    assert_int_equal(profile->processes[1].pid, 14);
    assert_string_equal(dw_profile_property(profile, 1, "program").bytes, "my prog 7");
    const struct dw_value_row *row = &profile->threads[1].values.rows[0];
    assert_int_equal(dw_labels_state(&profile->labels, row->labels), DW_SAMPLE_KERNEL);
    assert_int_equal(profile->losses.damaged_chunks, 0);
    dw_profile_free(profile);
}

static void test_perf_script_of_other_events_is_counted(void **state)
{
    (void)state;
    check_report(cycles, sizeof cycles - 1,
                 "counts: 2 samples, of which it is not known how long they stand for\n"
                 "total %  self %   samples      self  function\n"
                 " 100.00  100.00         2         2  a (prog)\n");
}

static void test_gperftools(void **state)
{
    (void)state;
    struct bytes bytes = gperftools_file();
    check_report(bytes.data, bytes.size,
                 "CPU time: 12 samples, 100 Hz asked, 100 Hz obtained\n"
                 "percentages are of 120.0 ms, the CPU time of the thread\n"
                 "total %  self %   total s    self s   samples  function\n"
                 " 100.00  100.00     0.120     0.120        12  [python3.13]\n"
                 "  41.67    0.00     0.050     0.000         5  [lib with spaces.so.1]\n");
    struct dw_profile *profile = fixture_import(bytes.data, bytes.size);
    const struct dw_place *outermost = &profile->places.places[profile->paths.paths[1].step];
    assert_int_equal(outermost->address, 0x3000); /* the call is before where it returns to */
    assert_int_equal(profile->modules[0].start, 0x7f0000000000);
    assert_int_equal(profile->modules[0].file_offset, 0x1000);
    dw_profile_free(profile);
}

static void test_gperftools_of_32_bits(void **state)
{
    (void)state;
    uint32_t words[COUNT_OF(gperftools)];
    for (size_t i = 0; i < COUNT_OF(gperftools); i++)
        words[i] = (uint32_t)gperftools[i];
    char bytes[sizeof words + sizeof maps];
    memcpy(bytes, words, sizeof words);
    memcpy(bytes + sizeof words, maps, sizeof maps);
    struct dw_profile *profile = fixture_import(bytes, sizeof bytes - 1);
    assert_int_equal(profile->processes[0].sampling.taken, 12);
    assert_int_equal(profile->threads[0].values.count, 2);
    dw_profile_free(profile);
}

static void test_what_is_none_of_them(void **state)
{
    (void)state;
    static const char *const texts[] = {"",         "hello world\n", "12\n", " 12\n",    "a;b x\n",
                                        "a 1\nb\n", "# only this\n", "\n",   "a b 1 c\n"};
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(dw_import(texts[i], strlen(texts[i]), "x", NOW_NS, profile),
                         DW_ERR_NOT_DWELL);
    assert_int_equal(profile->process_count, 0);
    dw_profile_free(profile);
}

static void test_the_same_file_is_not_added_twice(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_import(folded, sizeof folded - 1);
    assert_int_equal(dw_import(folded, sizeof folded - 1, "y", NOW_NS, profile), DW_ERR_DUPLICATE);
    dw_profile_free(profile);
}

static void test_what_is_not_understood_is_told(void **state)
{
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < 30; i++)
        strcat(text, "a;b 1\n");
    strcat(text, "torn line\nc 2\n");
    struct dw_profile *profile = fixture_import(text, strlen(text));
    assert_int_equal(profile->losses.damaged_chunks, 1);
    assert_int_equal(profile->losses.damaged_bytes, 9);
    assert_int_equal(profile->processes[0].sampling.taken, 32);
    dw_profile_free(profile);
}

/* Sums that do not fit wrap; nothing else may happen. */
static void import_and_show(const void *bytes, size_t size)
{
    static const char *const lenses[] = {"tree", "pprof", "callgrind", "speedscope"};
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    int error = dw_import(bytes, size, "x", NOW_NS, profile);
    assert_true(!error || error == DW_ERR_NOT_DWELL);
    for (size_t i = 0; i < COUNT_OF(lenses) && !error; i++)
        free(fixture_show(profile, lenses[i], NULL, NULL));
    dw_profile_free(profile);
}

/* Copies have no spare byte behind them, so that reading too far is seen. */
static void change_and_import(const void *bytes, size_t size)
{
    static const char interesting[] = "\n\t ;:()+/.#[]0123456789\xff";
    for (uint32_t round = 0; round < ROUNDS; round++) {
        size_t kept = round % 4 ? size : fixture_random_below((uint32_t)size) + 1;
        char *copy = malloc(kept);
        assert_non_null(copy);
        memcpy(copy, bytes, kept);
        for (uint32_t i = 0, count = fixture_random_below(6); i < count; i++)
            copy[fixture_random_below((uint32_t)kept)] =
                fixture_random_below(2) ? interesting[fixture_random_below(sizeof interesting)]
                                        : (char)fixture_random_below(256);
        import_and_show(copy, kept);
        free(copy);
    }
}

static void test_changed_bytes_do_no_harm(void **state)
{
    (void)state;
    struct bytes bytes = gperftools_file();
    change_and_import(folded, sizeof folded - 1);
    change_and_import(mprof, sizeof mprof - 1);
    change_and_import(perf, sizeof perf - 1);
    change_and_import(bytes.data, bytes.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mprof_becomes_series_and_a_timeline),
        cmocka_unit_test(test_collapsed_stacks_are_counts),
        cmocka_unit_test(test_collapsed_stacks_come_back_the_same),
        cmocka_unit_test(test_perf_script_of_a_clock_has_times),
        cmocka_unit_test(test_perf_script_tells_processes_apart),
        cmocka_unit_test(test_perf_script_of_other_events_is_counted),
        cmocka_unit_test(test_gperftools),
        cmocka_unit_test(test_gperftools_of_32_bits),
        cmocka_unit_test(test_what_is_none_of_them),
        cmocka_unit_test(test_the_same_file_is_not_added_twice),
        cmocka_unit_test(test_what_is_not_understood_is_told),
        cmocka_unit_test(test_changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
