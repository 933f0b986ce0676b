/* SPDX-License-Identifier: MIT
 * Whatever is lost of a timeline, its steps nest and never go back in time. */
#include "check.h"
#include "fixture.h"

#include "lens/export/event_walk.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    struct dw_out text; /* "+load@1 -load@2": opened, closed, and when */
    const struct dw_profile *profile;
    uint32_t depth;
    uint64_t last_ns;
};

static void see(void *context, const struct dw_step *step)
{
    struct seen *seen = context;
    static const char marks[] = {'+', '-', '!', '#'};
    assert_true(step->time_ns >= seen->last_ns);
    seen->last_ns = step->time_ns;
    if (step->kind == DW_STEP_OPEN)
        seen->depth++;
    if (step->kind == DW_STEP_CLOSE)
        assert_true(seen->depth-- > 0);
    dw_out_char(&seen->text, marks[step->kind]);
    dw_out_text(&seen->text, dw_profile_path_name(seen->profile, step->path).bytes);
    dw_out_printf(&seen->text, "%s@%u ", step->resumed ? "~" : "", (unsigned)step->time_ns);
}

static void check_steps(struct dw_profile *profile, uint32_t thread, const char *expected)
{
    struct dw_event_walk walk;
    struct seen seen = {.profile = profile};
    dw_out_init_memory(&seen.text);
    fixture_prepare(profile);
    assert_int_equal(dw_event_walk_init(&walk, profile), 0);
    assert_int_equal(dw_event_walk_thread(&walk, thread, see, &seen), 0);
    assert_int_equal(seen.depth, 0);
    dw_out_char(&seen.text, '\0');
    assert_string_equal((char *)seen.text.buffer.data, expected);
    dw_out_close(&seen.text);
    dw_event_walk_release(&walk);
}

struct setup {
    struct dw_profile *profile;
    uint32_t thread;
    dw_path_id a, b, c;
};

static struct setup set_up(void)
{
    struct setup setup = {.profile = fixture_new()};
    uint32_t process = fixture_process(setup.profile, 1, 0);
    setup.thread = fixture_thread(setup.profile, process, 1, "MainThread");
    setup.a = fixture_path(setup.profile, "a");
    setup.b = fixture_path(setup.profile, "a/b");
    setup.c = fixture_path(setup.profile, "a/b/c");
    return setup;
}

static void test_plain(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event events[] = {
        {10, DW_EVENT_ENTER, s.a, 0},   {20, DW_EVENT_ENTER, s.b, 0},  {30, DW_EVENT_SUSPEND, 0, 0},
        {40, DW_EVENT_INSTANT, s.c, 0}, {50, DW_EVENT_RESUME, s.b, 0}, {60, DW_EVENT_EXIT, 0, 0},
        {70, DW_EVENT_COUNTER, s.c, 5}, {80, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, events, COUNT_OF(events));
    check_steps(s.profile, s.thread, "+a@10 +b@20 -b@30 !c@40 +b~@50 -b@60 #c@70 -a@80 ");
    dw_profile_free(s.profile);
}

static void test_open_entries_end_with_the_recording(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event events[] = {{10, DW_EVENT_ENTER, s.a, 0}, {20, DW_EVENT_ENTER, s.b, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, events, COUNT_OF(events));
    check_steps(s.profile, s.thread, "+a@10 +b@20 -b@10000000 -a@10000000 ");
    dw_profile_free(s.profile);
}

static void test_ends_without_beginnings_are_ignored(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event events[] = {{10, DW_EVENT_EXIT, 0, 0},
                                      {15, DW_EVENT_SUSPEND, 0, 0},
                                      {20, DW_EVENT_ENTER, s.a, 0},
                                      {30, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, events, COUNT_OF(events));
    check_steps(s.profile, s.thread, "+a@20 -a@30 ");
    dw_profile_free(s.profile);
}

/* What is open when the first block starts was opened before: in the parent of a fork, say. */
static void test_starts_with_something_open(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event events[] = {{10, DW_EVENT_EXIT, 0, 0}, {30, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, s.b, events, COUNT_OF(events));
    check_steps(s.profile, s.thread, "+a@10 +b@10 -b@10 -a@30 ");
    dw_profile_free(s.profile);
}

static void test_blocks_in_sequence_are_one(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event first[] = {{10, DW_EVENT_ENTER, s.a, 0}};
    const struct dw_event second[] = {{20, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, first, 1);
    fixture_events(s.profile, s.thread, 1, s.a, second, 1);
    check_steps(s.profile, s.thread, "+a@10 -a@20 ");
    dw_profile_free(s.profile);
}

static void test_gap_starts_anew(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event first[] = {{10, DW_EVENT_ENTER, s.a, 0}, {15, DW_EVENT_ENTER, s.b, 0}};
    const struct dw_event third[] = {{50, DW_EVENT_EXIT, 0, 0},
                                     {60, DW_EVENT_EXIT, 0, 0},
                                     {70, DW_EVENT_EXIT, 0, 0},
                                     {80, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, first, 2);
    fixture_events(s.profile, s.thread, 2, s.c, third, 4);
    check_steps(s.profile, s.thread,
                "+a@10 +b@15 -b@15 -a@15 +a@50 +b@50 +c@50 -c@50 -b@60 -a@70 ");
    dw_profile_free(s.profile);
}

static void test_undecodable_block_is_a_gap(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event enter[] = {{10, DW_EVENT_ENTER, s.a, 0}};
    const struct dw_event leave[] = {{50, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, enter, 1);
    fixture_events(s.profile, s.thread, 1, s.a, enter, 1);
    fixture_events(s.profile, s.thread, 2, s.b, leave, 1);
    s.profile->blocks[1].payload[0] ^= 0xff;
    check_steps(s.profile, s.thread, "+a@10 -a@10 +a@50 +b@50 -b@50 -a@10000000 ");
    dw_profile_free(s.profile);
}

/* Ticks of another core, or a block that was written late: time stands still until it catches up.
 */
static void test_time_never_goes_back(void **state)
{
    (void)state;
    struct setup s = set_up();
    const struct dw_event first[] = {{50, DW_EVENT_ENTER, s.a, 0}};
    const struct dw_event second[] = {{20, DW_EVENT_ENTER, s.b, 0}, {60, DW_EVENT_EXIT, 0, 0}};
    const struct dw_event third[] = {{55, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, first, 1);
    fixture_events(s.profile, s.thread, 1, s.a, second, 2);
    fixture_events(s.profile, s.thread, 2, s.a, third, 1);
    check_steps(s.profile, s.thread, "+a@50 +b@50 -b@60 -a@60 ");
    dw_profile_free(s.profile);
}

static void test_threads_are_apart(void **state)
{
    (void)state;
    struct setup s = set_up();
    uint32_t other = fixture_thread(s.profile, 0, 2, "other");
    const struct dw_event enter_a[] = {{10, DW_EVENT_ENTER, s.a, 0}};
    const struct dw_event enter_b[] = {{11, DW_EVENT_ENTER, s.b, 0}};
    const struct dw_event leave[] = {{20, DW_EVENT_EXIT, 0, 0}};
    fixture_events(s.profile, s.thread, 0, DW_PATH_ROOT, enter_a, 1);
    fixture_events(s.profile, other, 0, DW_PATH_ROOT, enter_b, 1);
    fixture_events(s.profile, s.thread, 1, s.a, leave, 1);
    fixture_events(s.profile, other, 1, s.b, leave, 1);
    check_steps(s.profile, s.thread, "+a@10 -a@20 ");
    check_steps(s.profile, other, "+b@11 -b@20 ");
    dw_profile_free(s.profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_open_entries_end_with_the_recording),
        cmocka_unit_test(test_ends_without_beginnings_are_ignored),
        cmocka_unit_test(test_starts_with_something_open),
        cmocka_unit_test(test_blocks_in_sequence_are_one),
        cmocka_unit_test(test_gap_starts_anew),
        cmocka_unit_test(test_undecodable_block_is_a_gap),
        cmocka_unit_test(test_time_never_goes_back),
        cmocka_unit_test(test_threads_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
