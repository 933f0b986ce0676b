/* SPDX-License-Identifier: MIT
 * A child that runs for ever, or stands still. */
#define _GNU_SOURCE
#include "check.h"

#include "attach/sampling/switches.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static void *switches;

static int start(void **state)
{
    (void)state;
    child = fork();
    while (!child)
        continue;
    switches = dw_switches_open(child);
    return child < 0;
}

static int end(void **state)
{
    (void)state;
    dw_switches_close(switches);
    kill(child, SIGKILL);
    return waitpid(child, NULL, 0) != child;
}

static void test_one_that_stands_still_has_no_cpu(void **state)
{
    (void)state;
    int status;
    if (!switches)
        skip(); /* the kernel does not tell us */
    kill(child, SIGSTOP);
    waitpid(child, &status, WUNTRACED);
    usleep(1000);
    assert_false(dw_switches_had_cpu(switches));
    kill(child, SIGCONT);
    while (!dw_switches_had_cpu(switches))
        usleep(100);
}

static void test_nothing_is_known_of_one_that_cannot_be_opened(void **state)
{
    (void)state;
    void *none = dw_switches_open(0x3fffffff);
    assert_null(none);
    assert_true(dw_switches_had_cpu(none));
    dw_switches_close(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_that_stands_still_has_no_cpu, start, end),
        cmocka_unit_test(test_nothing_is_known_of_one_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
