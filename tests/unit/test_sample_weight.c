/* SPDX-License-Identifier: MIT
 * What samples from outside stand for, of a thread whose turns on a CPU are known. */
#define _GNU_SOURCE
#include "check.h"

#include "attach/sampling/watched.h"
#include "record/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define US 1000u
#define PERIOD_NS (1000 * US)
#define SAMPLES 6200 /* as many whole periods as whole rounds */

/* A server: it works on a request, waits, sees to something small, and waits. */
#define LONG_NS (1600 * US)
#define PAUSE_NS (600 * US)
#define SHORT_NS (200 * US)
#define ROUND_NS (3100 * US)

struct program {
    struct dw_sampler sampler;
    struct dw_watched thread;
    struct dw_cpu_account account;
    dw_path_id in_long, in_short;
    uint64_t seen_long_ns, seen_short_ns;
};

static void seen(void *context, uint32_t thread, dw_path_id path, uint32_t state,
                 uint64_t weight_ns)
{
    (void)thread, (void)state;
    struct program *program = context;
    assert_true(path == program->in_long || path == program->in_short);
    *(path == program->in_long ? &program->seen_long_ns : &program->seen_short_ns) += weight_ns;
}

static dw_path_id path_of(struct dw_ledger *log, const char *name)
{
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION};
    struct dw_place place = {0};
    dw_place_id place_id;
    dw_path_id path;
    assert_int_equal(dw_ledger_string(log, name, strlen(name), &frame.name), 0);
    assert_int_equal(dw_ledger_frame(log, &frame, &place.frame), 0);
    assert_int_equal(dw_ledger_place(log, &place, &place_id), 0);
    assert_int_equal(dw_ledger_path(log, 0, place_id, &path), 0);
    return path;
}

static int start(void **state)
{
    static struct program program;
    program = (struct program){
        .sampler = {.threads = &program.thread,
                    .thread_count = 1,
                    .seen = seen,
                    .seen_context = &program},
        .thread = {.activity = {.syscall_fd = -1, .turns_fd = memfd_create("schedstat", 0)},
                   .cpu = &program.account,
                   .has_stack = true,
                   .has_cpu = true},
        .account = {.users = 1},
    };
    assert_int_equal(dw_ledger_open(&(struct dw_ledger_options){0}, &program.sampler.log), 0);
    struct dw_ledger *log = program.sampler.log;
    log->sampling = (struct dw_sampling){.period_ns = PERIOD_NS, .mode = DW_SAMPLE_CPU};
    assert_int_equal(dw_ledger_thread(log, 1, 77, &program.thread.log_thread), 0);
    program.in_long = path_of(log, "long");
    program.in_short = path_of(log, "short");
    *state = &program;
    return program.thread.activity.turns_fd < 0;
}

static int end(void **state)
{
    struct program *program = *state;
    dw_ledger_release(program->sampler.log);
    free(program->account.pending);
    return close(program->thread.activity.turns_fd);
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The CPU time that the kernel has counted. */
static void count(struct program *program, uint64_t cpu_ns)
{
    char text[DW_TURNS_BYTES];
    int size = snprintf(text, sizeof text, "%llu 0 1\n", (unsigned long long)cpu_ns);
    assert_int_equal(pwrite(program->thread.activity.turns_fd, text, (size_t)size, 0), size);
}

/* What the kernel and the stack say at that moment. */
static void go_to(struct program *program, uint64_t now_ns)
{
    uint64_t in_round = now_ns % ROUND_NS, short_begins = LONG_NS + PAUSE_NS;
    uint64_t in_short = in_round > short_begins ? at_most(in_round - short_begins, SHORT_NS) : 0;
    bool is_long = in_round < LONG_NS, is_short = in_short && in_short < SHORT_NS;
    uint64_t cpu_ns =
        now_ns / ROUND_NS * (LONG_NS + SHORT_NS) + at_most(in_round, LONG_NS) + in_short;
    count(program, cpu_ns);
    program->thread.state = is_long || is_short ? DW_SAMPLE_RUNNING : DW_SAMPLE_WAITING;
    program->thread.path = is_long ? program->in_long : program->in_short;
}

/* Turns that are met seldom have the time of all that are not met. */
static void test_short_turns_have_their_share(void **state)
{
    struct program *program = *state;
    for (uint64_t i = 1; i <= SAMPLES; i++) {
        go_to(program, i * PERIOD_NS - PERIOD_NS / 20); /* never just as a turn begins or ends */
        assert_int_equal(dw_weights_add(&program->sampler, i * PERIOD_NS), 0);
    }
    assert_int_equal(dw_sampler_spend_rest(&program->sampler), 0);
    double whole_ns = (double)(program->seen_long_ns + program->seen_short_ns);
    double share = (double)program->seen_short_ns / whole_ns;
    assert_float_equal(share, (double)SHORT_NS / (LONG_NS + SHORT_NS), 0.01);
    double used_ns = (double)SAMPLES * PERIOD_NS / ROUND_NS * (LONG_NS + SHORT_NS);
    assert_float_equal((float)(whole_ns / used_ns), 1, 0.002);
}

/* A thread that is at work in system calls takes longer to stop than in a loop. */
static void test_how_long_stops_take_bends_no_shares(void **state)
{
    struct program *program = *state;
    for (uint64_t i = 1; i <= SAMPLES; i++) {
        bool is_long = i % 2;
        count(program, i * PERIOD_NS);
        program->thread.state = DW_SAMPLE_RUNNING;
        program->thread.path = is_long ? program->in_long : program->in_short;
        program->thread.stopped_ns = is_long ? PERIOD_NS / 20 : PERIOD_NS / 2;
        assert_int_equal(dw_weights_add(&program->sampler, i * PERIOD_NS), 0);
    }
    assert_int_equal(dw_sampler_spend_rest(&program->sampler), 0);
    assert_float_equal((float)program->seen_long_ns / (float)program->seen_short_ns, 1, 0.01);
}

static void test_the_last_samples_have_their_time(void **state)
{
    struct program *program = *state;
    go_to(program, PERIOD_NS);
    assert_int_equal(dw_weights_add(&program->sampler, PERIOD_NS), 0);
    assert_int_equal(program->seen_long_ns, 0);
    assert_int_equal(dw_sampler_spend_rest(&program->sampler), 0);
    assert_int_equal(program->seen_long_ns, PERIOD_NS);
}

/* A thread that was seen to run all the time, but had a CPU half of it. The kernel forgets what it
 * counted when a thread ends. */
static void test_a_thread_that_ended_has_no_more_than_was_counted(void **state)
{
    struct program *program = *state;
    for (uint64_t i = 1; i <= 100; i++) {
        count(program, i * PERIOD_NS / 2);
        program->thread.state = DW_SAMPLE_RUNNING;
        program->thread.path = program->in_long;
        assert_int_equal(dw_weights_add(&program->sampler, i * PERIOD_NS), 0);
    }
    assert_int_equal(ftruncate(program->thread.activity.turns_fd, 0), 0);
    assert_int_equal(dw_sampler_spend_rest(&program->sampler), 0);
    assert_true(program->seen_long_ns >= 49 * PERIOD_NS);
    assert_true(program->seen_long_ns <= 56 * PERIOD_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_thread_that_ended_has_no_more_than_was_counted,
                                        start, end),
        cmocka_unit_test_setup_teardown(test_short_turns_have_their_share, start, end),
        cmocka_unit_test_setup_teardown(test_how_long_stops_take_bends_no_shares, start, end),
        cmocka_unit_test_setup_teardown(test_the_last_samples_have_their_time, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
