/* SPDX-License-Identifier: MIT
 * Parts of sampling from outside: what the kernel says of a thread, stacks put together. */
#define _GNU_SOURCE
#include "check.h"

#include "attach/native/merged_stack.h"
#include "attach/sampling/activity.h"
#include "attach/target/stop.h"
#include "attach/target/task.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIL 0x7f0000001000u

static void test_what_a_system_call_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum dw_activity activity;
    } cases[] = {
        {"running\n", DW_ACTIVITY_RUNS},
        {"202 0x7f0000001048 0x189 0x0 0x0 0x0 0x0 0x7ffc 0x7f12\n", DW_ACTIVITY_WAITS_FOR_GIL},
        {"202 0x7f0000002048 0x189 0x0 0x0 0x0 0x0 0x7ffc 0x7f12\n", DW_ACTIVITY_WAITS},
        {"7 0x7f0000001048 0x1 0x0 0x0 0x0 0x0 0x7ffc 0x7f12\n", DW_ACTIVITY_WAITS},
        {"-1 0x7ffc 0x7f12\n", DW_ACTIVITY_WAITS_FOR_MEMORY},
        {"", DW_ACTIVITY_UNKNOWN},
        {"nonsense\n", DW_ACTIVITY_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(dw_activity_parse(cases[i].text, GIL), cases[i].activity);
    assert_int_equal(dw_activity_parse(cases[1].text, 0), DW_ACTIVITY_WAITS);
}

static void on_signal(int number)
{
    (void)number;
}

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child)
        return child;
    alarm(60);
    signal(SIGUSR1, on_signal);
    for (;;)
        pause();
}

static void test_thread_that_waits_and_runs(void **state)
{
    (void)state;
    struct dw_activity_files files;
    uint64_t sp = 0, pc = 0;
    pid_t child = start_child();
    assert_true(child > 0);
    dw_activity_open(child, child, &files);
    while (dw_activity_find(&files, 0, &sp, &pc) != DW_ACTIVITY_WAITS)
        usleep(1000);
    assert_true(sp != 0 && pc != 0);
    dw_activity_has_run(&files);
    assert_false(dw_activity_has_run(&files));
    kill(child, SIGUSR1);
    while (!dw_activity_has_run(&files))
        usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(dw_activity_read(&files, 0), DW_ACTIVITY_UNKNOWN);
    dw_activity_close(&files);
}

static void test_stopping_a_thread(void **state)
{
    (void)state;
    struct dw_registers registers = {0};
    int signal = 0, status;
    pid_t child = start_child();
    for (int i = 0; i < 100; i++) {
        assert_true(dw_thread_stop(child, child, &signal));
        assert_true(dw_thread_registers(child, &registers));
        dw_thread_let_go(child, signal);
    }
    assert_true(registers.sp != 0 && registers.pc != 0);
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_false(dw_thread_stop(child, child, &signal));
}

static void kill_while_stopped(pid_t child)
{
    int signal;
    assert_true(dw_thread_stop(child, child, &signal));
    kill(child, SIGKILL);
    dw_thread_let_go(child, signal);
}

static void test_a_child_that_is_killed_while_it_is_stopped(void **state)
{
    (void)state;
    int status;
    pid_t child = start_child();
    kill_while_stopped(child);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Tells the pid of its child, and ends when it hears of the child's end. */
static pid_t start_parent(pid_t *child)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (!parent) {
        int status;
        *child = start_child();
        alarm(10);
        bool is_told = write(ends[1], child, sizeof *child) == sizeof *child;
        _exit(is_told && waitpid(*child, &status, 0) == *child && WIFSIGNALED(status) ? 0 : 1);
    }
    assert_int_equal(read(ends[0], child, sizeof *child), sizeof *child);
    close(ends[0]);
    close(ends[1]);
    return parent;
}

static void test_the_parent_of_one_that_is_killed_while_it_is_stopped(void **state)
{
    (void)state;
    int status;
    pid_t child, parent = start_parent(&child);
    kill_while_stopped(child);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(status, 0);
}

/* What a child and we share. */
struct shared {
    _Atomic pid_t thread;
    atomic_bool may_go;
};

static void *become_another_program(void *context)
{
    struct shared *shared = context;
    shared->thread = gettid();
    while (!shared->may_go)
        ;
    execl("/bin/sleep", "sleep", "60", NULL);
    _exit(1);
}

static pid_t start_thread(struct shared *shared)
{
    pthread_t thread;
    pid_t child = fork();
    if (!child && !pthread_create(&thread, NULL, become_another_program, shared))
        pthread_join(thread, NULL);
    if (!child)
        _exit(1);
    while (!shared->thread)
        usleep(100);
    return child;
}

/* The thread is stopped somewhere on its way into the other program, or thereafter. */
static void stop_at(struct shared *shared, uint64_t delay_ns)
{
    struct dw_task task;
    int signal, status;
    *shared = (struct shared){0};
    pid_t child = start_thread(shared), thread = shared->thread;
    shared->may_go = true;
    uint64_t begun_ns = dw_clock_ns(CLOCK_MONOTONIC);
    while (dw_clock_ns(CLOCK_MONOTONIC) - begun_ns < delay_ns)
        ;
    if (dw_thread_stop(child, thread, &signal))
        dw_thread_let_go(thread, signal);
    while (!dw_task_read(child, child, &task)) /* its id is just handed over */
        usleep(100);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(task.tracer, 0);
}

static void test_a_thread_that_becomes_another_program_is_not_kept(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (uint64_t i = 0; i < 200; i++)
        stop_at(shared, i * 2000);
    munmap(shared, sizeof *shared);
}

/* Native frames at 0x1000, 0x2000 and so on; the entries of two runs of the interpreter's loop
 * are in the third and the fifth. */
static struct dw_native_stack *make_native(uint32_t count)
{
    struct dw_native_stack *native = calloc(1, sizeof *native);
    assert_non_null(native);
    for (uint32_t i = 0; i < count; i++)
        native->frames[i].sp = 0x1000u * (i + 1);
    native->count = count;
    native->end = 0x1000u * (count + 1);
    return native;
}

static void check_merged(uint32_t native_count, const char *expected)
{
    struct dw_raw_frame frames[] = {{.code = 1},
                                    {.code = 1, .is_entry = true, .entry = 0x3800},
                                    {.code = 1, .is_entry = true, .entry = 0x5008}};
    struct dw_raw_stack python = {.frames = frames, .count = 3, .capacity = 3};
    struct dw_native_stack *native = make_native(native_count);
    struct dw_merged_frame merged[16];
    char found[64] = "";
    uint32_t count = dw_stacks_merge(&python, native, merged);
    for (uint32_t i = 0; i < count; i++)
        snprintf(found + strlen(found), 8, "%s%u ", merged[i].is_native ? "n" : "p",
                 merged[i].index);
    assert_string_equal(found, expected);
    free(native);
}

static void test_python_frames_stand_where_their_loop_ran(void **state)
{
    (void)state;
    check_merged(6, "n5 p2 n3 p1 p0 n1 n0 ");
    check_merged(4, "p2 n3 p1 p0 n1 n0 "); /* cut: the outer loop was not reached */
    check_merged(0, "p2 p1 p0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_system_call_says),
        cmocka_unit_test(test_thread_that_waits_and_runs),
        cmocka_unit_test(test_stopping_a_thread),
        cmocka_unit_test(test_a_child_that_is_killed_while_it_is_stopped),
        cmocka_unit_test(test_the_parent_of_one_that_is_killed_while_it_is_stopped),
        cmocka_unit_test(test_a_thread_that_becomes_another_program_is_not_kept),
        cmocka_unit_test(test_python_frames_stand_where_their_loop_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
