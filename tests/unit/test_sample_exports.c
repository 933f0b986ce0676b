/* SPDX-License-Identifier: MIT
 * Exact output of samples in formats of other tools, for the same small profile. */
#include "check.h"
#include "fixture.h"

#include "lens/view/view.h"

#include <stdlib.h>
#include <string.h>

static void check_lens(const char *lens, const struct dw_lens_options *options,
                       const char *expected)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    char *text = fixture_show(profile, lens, options, NULL);
    assert_string_equal(text, expected);
    free(text);
    dw_profile_free(profile);
}

/* How samples were taken, in a JSON string. */
#define HEADER_TEXT                                                                                \
    "CPU time: 10 samples, 1000 Hz asked, 1000 Hz obtained; 3 missed, 2 guessed, 1 cut\\n"         \
    "missed samples were due and not taken\\n"                                                     \
    "guessed samples have native callers that are likely, not certain\\n"                          \
    "cut samples lack their outermost functions\\n"                                                \
    "GIL: held in 30.0 % of the time sampled, waited for in 10.0 %"

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
    struct dw_view_options options =
        dw_view_of_samples("function", (struct dw_restrictions){NULL, 0});
    struct dw_view view;
    assert_int_equal(dw_view_make(profile, &options, &view), 0);
    assert_int_equal(view.all[0], 13500000);
    dw_view_release(&view);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_callgrind),
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_chrome_nests_what_stayed),
        cmocka_unit_test(test_samples_make_room_for_time_that_is_told_late),
        cmocka_unit_test(test_samples_without_frames_are_part_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
