/* SPDX-License-Identifier: MIT
 * A thread that sleeps asks for short turns, so that it is woken in time; one that is to go fast
 * does not sleep at all. */
#include "attach/sampling/pace.h"

#include "base/clock.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_BELOW_NS 50000     /* shorter sleeps than this are mostly longer */
#define SHORTEST_TURN_NS 100000 /* who asks for short turns has them sooner */
#define MOST_URGENT (-20)
#define RESET_ON_FORK 1 /* a flag: a program that we start has its usual turns */

/* What sched_setattr takes; the C library has no name for it. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool ask_for_turns(int nice)
{
    struct scheduling asked = {.size = sizeof asked,
                               .policy = SCHED_OTHER,
                               .flags = RESET_ON_FORK,
                               .nice = nice,
                               .runtime_ns = SHORTEST_TURN_NS};
    return !syscall(SYS_sched_setattr, 0, &asked, 0);
}

void dw_pace_begin(uint64_t period_ns)
{
    prctl(PR_SET_TIMERSLACK, 1);
    if (period_ns < SPIN_BELOW_NS || sched_getscheduler(0) != SCHED_OTHER)
        return;
    if (!ask_for_turns(MOST_URGENT))
        ask_for_turns(getpriority(PRIO_PROCESS, 0));
}

void dw_pace_wait(uint64_t then_ns, uint64_t period_ns)
{
    struct timespec then = {.tv_sec = (time_t)(then_ns / 1000000000),
                            .tv_nsec = (long)(then_ns % 1000000000)};
    if (period_ns >= SPIN_BELOW_NS)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
    while (period_ns && period_ns < SPIN_BELOW_NS && dw_clock_ns(CLOCK_MONOTONIC) < then_ns)
        ;
}
