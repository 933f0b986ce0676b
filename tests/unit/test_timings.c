/* SPDX-License-Identifier: MIT
 * Timings in a log, and as a report. */
#include "check.h"
#include "fixture.h"
#include "json_check.h"

#include "lens/timing/timing_text.h"
#include "lens/timing/timings.h"
#include "log/reader.h"
#include "log/save.h"

#include <stdlib.h>
#include <string.h>

static struct dw_profile *two_timings(void)
{
    struct dw_profile *profile = fixture_new();
    fixture_process(profile, 7, 0);
    profile->processes[0].ended = true;
    fixture_timing(profile, "fib(1)", 20, 20000000);
    fixture_timing(profile, "fib\n2", 20, 40000000);
    return profile;
}

static char *table(const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    assert_int_equal(dw_timing_table.write(profile, &(struct dw_lens_options){0}, &out), 0);
    char *text = strndup((const char *)out.buffer.data, out.buffer.size);
    dw_out_close(&out);
    return text;
}

static struct dw_profile *round_trip(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    fixture_save(profile, &writer);
    struct dw_profile *loaded = fixture_load(writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    return loaded;
}

static void test_come_back(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings(), *loaded = round_trip(profile);
    assert_int_equal(loaded->timing_count, 2);
    const struct dw_timing *timing = &loaded->timings[1];
    assert_string_equal(dw_profile_string(loaded, timing->name).bytes, "fib\n2");
    assert_string_equal(dw_profile_timing_property(loaded, timing, "session").bytes, "5e55");
    assert_int_equal(dw_profile_timing_property(loaded, timing, "other").size, 0);
    assert_int_equal(timing->loops, 1000);
    assert_int_equal(timing->run_count, 20);
    assert_memory_equal(timing->runs_ns, profile->timings[1].runs_ns, 20 * sizeof(uint64_t));
    assert_int_equal(timing->process, 0);
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

/* Reading two logs into one profile is merging them; saving that keeps all. */
static void test_merge_keeps_them(void **state)
{
    (void)state;
    struct dw_profile *one = two_timings(), *other = two_timings(), *both;
    memset(other->processes[0].uuid, 9, 16);
    struct dw_log_writer first, second;
    fixture_save(one, &first);
    fixture_save(other, &second);
    assert_int_equal(dw_profile_new(&both), 0);
    assert_int_equal(dw_log_read(first.memory.data, first.memory.size, 0, both), 0);
    assert_int_equal(dw_log_read(second.memory.data, second.memory.size, 0, both), 0);
    struct dw_profile *loaded = round_trip(both);
    assert_int_equal(loaded->timing_count, 4);
    assert_int_equal(loaded->timings[1].process, 0);
    assert_int_equal(loaded->timings[2].process, 1);
    dw_log_writer_release(&first);
    dw_log_writer_release(&second);
    dw_profile_free(one);
    dw_profile_free(other);
    dw_profile_free(both);
    dw_profile_free(loaded);
}

/* A chunk whose timing makes no sense costs itself and nothing else. */
static void test_nonsense_is_damage(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    profile->timings[0].loops = 0;
    struct dw_profile *loaded = round_trip(profile);
    assert_int_equal(loaded->timing_count, 1);
    assert_int_equal(loaded->losses.damaged_chunks, 1);
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

static void test_table(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    char *text = table(profile);
    assert_string_equal(
        text, "   name      median      from        to      mean     stdev  runs     loops\n"
              "A  fib(1)     20 µs     20 µs     20 µs     20 µs   5.77 ns    20      1000\n"
              "B  fib\\n2     40 µs     40 µs     40 µs     40 µs   5.77 ns    20      1000\n"
              "from, to: the confidence interval of the median, of at least 95 %\n"
              "B is 2.00x slower than A (95 % CI 2.00–2.00)\n");
    free(text);
    assert_true(dw_timings_are_all(profile));
    dw_profile_free(profile);
}

/* As many runs of another session, though of the same process, are no pairs. */
static void test_pairs_are_of_one_session(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    profile->timings[1].properties[0].value = profile->timings[1].name;
    char *text = table(profile);
    assert_non_null(strstr(text, "(95 % CI 2.00–2.00); not measured side by side\n"));
    free(text);
    text = fixture_show(profile, "json", NULL, NULL);
    assert_non_null(strstr(text, "\"paired\": false"));
    assert_non_null(strstr(text, "not measured side by side\"}"));
    free(text);
    dw_profile_free(profile);
}

static void test_few_runs_claim_no_more_than_they_have(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    profile->timings[0].run_count = 3;
    char *text = table(profile);
    assert_non_null(strstr(text, "of the median, of at least 75 %\n"));
    free(text);
    profile->timings[0].run_count = 1;
    text = table(profile);
    assert_non_null(strstr(text, "A  fib(1)     20 µs         -         -     20 µs"));
    assert_non_null(strstr(text, "of the median, of at least 95 %\n"));
    free(text);
    dw_profile_free(profile);
}

static void test_json(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    char *text = fixture_show(profile, "json", NULL, NULL);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"name\": \"fib\\n2\", \"loops\": 1000, \"median_ns\": 40009.5"));
    assert_non_null(strstr(text, "\"verdict\": \"B is 2.00x slower than A"));
    free(text);
    profile->timings[0].run_count = 3;
    text = fixture_show(profile, "json", NULL, NULL);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"ratio_low\": null, \"ratio_high\": null"));
    free(text);
    dw_profile_free(profile);
}

static void test_warnings_in_the_table(void **state)
{
    (void)state;
    struct dw_profile *profile = two_timings();
    profile->timings[0].run_count = 3;
    for (uint32_t i = 0; i < 20; i++)
        profile->timings[1].runs_ns[i] = 500000 + i * 20000;
    char *text = table(profile);
    assert_non_null(strstr(text, "A: 3 runs cannot bound the median with 95 % confidence"));
    assert_non_null(strstr(text, "B: a run takes only 690 µs, too short to measure well"));
    assert_non_null(strstr(text, "B: the runs drift: the last third took 50.9 % longer"));
    free(text);
    dw_profile_free(profile);
}

/* Runs of a process are no independent witnesses of its median. */
static void test_interval_is_that_of_processes(void **state)
{
    (void)state;
    double values[30];
    for (size_t i = 0; i < 30; i++)
        values[i] = 1e6 + (double)(i / 5 * 1000) + (double)(i % 5);
    struct dw_timing_facts facts = {.runs = 30, .loops = 10, .group = 5, .confidence = 0.95};
    struct dw_summary summary;
    assert_int_equal(dw_timing_summarize(values, &facts, &summary), 0);
    assert_true(summary.median_interval.low == 1e6 + 2);
    assert_true(summary.median_interval.high == 1e6 + 5002);
    assert_true(summary.is_bounded);
    facts.runs = 25;
    assert_int_equal(dw_timing_summarize(values, &facts, &summary), 0);
    assert_false(summary.is_bounded);
    struct dw_out out;
    dw_out_init_memory(&out);
    dw_timing_put_warnings(&out, &summary, &facts);
    dw_out_char(&out, 0);
    assert_non_null(strstr((char *)out.buffer.data, "5 processes cannot bound the median"));
    dw_out_close(&out);
}

static char *warnings_of(const double *values, const struct dw_timing_facts *facts)
{
    struct dw_summary summary;
    struct dw_out out;
    assert_int_equal(dw_timing_summarize(values, facts, &summary), 0);
    dw_out_init_memory(&out);
    dw_timing_put_warnings(&out, &summary, facts);
    dw_out_char(&out, 0);
    char *text = strndup((const char *)out.buffer.data, out.buffer.size);
    dw_out_close(&out);
    return text;
}

/* Every process gets slower while it runs; none is slower than another. */
static void test_doubts_are_about_processes(void **state)
{
    (void)state;
    double values[50];
    for (size_t i = 0; i < 50; i++)
        values[i] = 1e6 + (double)(i % 5 * 200000) + (double)(i / 5 * 7 % 10 * 1000);
    struct dw_timing_facts facts = {.runs = 50, .loops = 10, .group = 5, .confidence = 0.95};
    char *text = warnings_of(values, &facts);
    assert_string_equal(text, "");
    free(text);
    for (size_t i = 0; i < 5; i++)
        values[i] *= 2;
    text = warnings_of(values, &facts);
    assert_string_equal(text, "1 of 10 processes is far from the others\n");
    free(text);
    for (size_t i = 0; i < 50; i++)
        values[i] = 1e6 + (double)(i / 5 * 10000);
    text = warnings_of(values, &facts);
    assert_non_null(strstr(text, "the processes drift: the last third took 6.9 % longer"));
    free(text);
}

static void test_outliers_need_others(void **state)
{
    (void)state;
    const double values[] = {1000003, 1100000, 1000001, 1000004, 1000000, 1000002, 1000003};
    struct dw_timing_facts facts = {.runs = 7, .loops = 10, .confidence = 0.95};
    char *text = warnings_of(values, &facts);
    assert_string_equal(text, "1 of 7 runs is far from the others\n");
    free(text);
    facts.runs = 6;
    text = warnings_of(values, &facts);
    assert_string_equal(text, "");
    free(text);
}

static void test_no_time_at_all_has_no_multiple(void **state)
{
    (void)state;
    const double values[] = {0, 0, 1, 0, 2, 0, 0};
    struct dw_timing_facts facts = {.runs = 7, .loops = 10, .confidence = 0.95};
    char *text = warnings_of(values, &facts);
    assert_string_equal(text, "a run takes only 0 ns, too short to measure well: use more loops\n");
    free(text);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } cases[] = {{0, "0 ns"},        {0.1234, "0.123 ns"}, {999.4, "999 ns"}, {999.6, "1 µs"},
                 {12345, "12.3 µs"}, {1e6, "1 ms"},        {1.5e9, "1.5 s"},  {59.9e9, "59.9 s"},
                 {60e9, "1min"},     {62e9, "1min 2s"},    {3601e9, "1h 1s"}, {90000e9, "1d 1h"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_out out;
        dw_out_init_memory(&out);
        dw_timing_put_time(&out, cases[i].ns, 3);
        dw_out_char(&out, 0);
        assert_string_equal(out.buffer.data, cases[i].text);
        dw_out_close(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_back),
        cmocka_unit_test(test_merge_keeps_them),
        cmocka_unit_test(test_nonsense_is_damage),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_pairs_are_of_one_session),
        cmocka_unit_test(test_few_runs_claim_no_more_than_they_have),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_warnings_in_the_table),
        cmocka_unit_test(test_interval_is_that_of_processes),
        cmocka_unit_test(test_doubts_are_about_processes),
        cmocka_unit_test(test_outliers_need_others),
        cmocka_unit_test(test_no_time_at_all_has_no_multiple),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
