/* SPDX-License-Identifier: MIT
 * Periods vary at random around the one that is asked for. The program may close our files, so each
 * use checks that the event is still ours. */
#define _GNU_SOURCE
#include "probe/sample/sample_timer.h"

#include "base/clock.h"
#include "base/map.h"
#include "probe/sample/sample_handler.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SHORTEST_PERIOD 8      /* a fraction of the usual one */
#define VARY_AFTER_NS 8000000u /* setting a period takes the thread some microseconds */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The thread's CPU clock, by its id. */
static clockid_t clock_of(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

uint64_t dw_thread_cpu_ns(pid_t tid)
{
    struct timespec time;
    return clock_gettime(clock_of(tid), &time) ? 0 : dw_timespec_ns(&time);
}

/* The first sample comes anywhere in the first period, or short threads that are alike would all be
 * sampled at one point, or never. It is never very short, because the timer keeps that period until
 * the sample sets another. */
static uint64_t first_period_ns(uint64_t period_ns)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC), least_ns = period_ns / SHORTEST_PERIOD;
    return least_ns + dw_hash_bytes(&now_ns, sizeof now_ns) % (period_ns - least_ns);
}

static bool start_perf(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_TASK_CLOCK};
    slot->period_ns = period_ns;
    slot->cpu_timed_ns = dw_thread_cpu_ns(slot->tid);
    slot->current_period_ns = attributes.sample_period = first_period_ns(period_ns);
    if (dw_perf_event_open(&slot->timer, &attributes, slot->tid, signal))
        return true;
    slot->period_ns = slot->current_period_ns = 0;
    return false;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* In the place of one that there may be. */
static bool start_ticks(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    if (slot->has_ticks)
        timer_delete(slot->ticks);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    event.sigev_notify_thread_id = slot->tid;
    event.sigev_value.sival_ptr = dw_handler_cookie();
    slot->has_ticks = !timer_create(clock_of(slot->tid), &event, &slot->ticks);
    struct itimerspec times = {timespec_of(period_ns), timespec_of(first_period_ns(period_ns))};
    if (slot->has_ticks && timer_settime(slot->ticks, 0, &times, NULL)) {
        timer_delete(slot->ticks);
        slot->has_ticks = false;
    }
    slot->ticks_ns = period_ns;
    return slot->has_ticks;
}

/* Older kernels send signals from the tick itself, which ends a system call that is about to wait.
 * Newer ones do so when the thread leaves the kernel. */
static bool ticks_wait_for_end_of_call(void)
{
    struct utsname system;
    int major, minor;
    return !uname(&system) && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 9));
}

void dw_timer_tick(struct dw_slot *slot, int signal)
{
    if (slot->has_ticks || !slot->period_ns || atomic_load(&slot->tight_stack) ||
        !ticks_wait_for_end_of_call())
        return;
    slot->tick_cpu_ns = dw_thread_cpu_ns(slot->tid);
    start_ticks(slot, slot->period_ns, signal);
}

/* An instruction breakpoint at the function that registers stacks for signals. */
void dw_timer_watch_stacks(struct dw_slot *slot, int signal)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = HW_BREAKPOINT_X,
        .bp_addr = (uintptr_t)sigaltstack,
        .bp_len = sizeof(long),
        .sample_period = 1,
    };
    dw_perf_event_open(&slot->stack_watch, &attributes, slot->tid, signal);
}

bool dw_timer_start(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    return start_perf(slot, period_ns, signal) || start_ticks(slot, period_ns, signal);
}

void dw_timer_renew(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    if (slot->timer.fd < 0 || dw_perf_event_is_open(&slot->timer) ||
        atomic_load(&slot->tight_stack))
        return;
    slot->carries = true; /* the time without a timer was not spent in the kernel */
    dw_timer_start(slot, period_ns, signal);
}

bool dw_timer_is_on(const struct dw_slot *slot)
{
    return slot->timer.fd >= 0 || slot->has_ticks;
}

void dw_timer_stop(struct dw_slot *slot)
{
    dw_perf_event_close(&slot->timer);
    dw_perf_event_close(&slot->stack_watch);
    if (slot->has_ticks)
        timer_delete(slot->ticks);
    slot->has_ticks = false;
}

void dw_timer_use_signal(struct dw_slot *slot, int signal)
{
    if (dw_perf_event_is_open(&slot->timer))
        fcntl(slot->timer.fd, F_SETSIG, signal);
    if (dw_perf_event_is_open(&slot->stack_watch))
        fcntl(slot->stack_watch.fd, F_SETSIG, signal);
    if (!slot->has_ticks || atomic_load(&slot->tight_stack))
        return;
    start_ticks(slot, slot->ticks_ns, signal);
}

/* Up to half longer or shorter than the usual one, by chance. */
static uint64_t any_period_ns(struct dw_slot *slot, uint64_t period_ns)
{
    slot->chance = dw_hash_mix(slot->chance + slot->timer.id);
    return period_ns / 2 + slot->chance % (period_ns + 1);
}

/* A signal of the last recording's timer may be late, and find another timer, or none, or one that
 * is just being started. */
void dw_timer_vary(struct dw_slot *slot)
{
    uint64_t period_ns = atomic_load_explicit(&slot->period_ns, memory_order_relaxed);
    if (!period_ns)
        return;
    if (slot->signals_of_period) {
        slot->signals_of_period--;
        return;
    }
    slot->current_period_ns = any_period_ns(slot, period_ns);
    slot->signals_of_period = (uint32_t)(VARY_AFTER_NS / period_ns);
    atomic_store_explicit(&slot->is_begun, true, memory_order_relaxed);
    ioctl(slot->timer.fd, PERF_EVENT_IOC_PERIOD, &slot->current_period_ns);
}

void dw_timer_step_aside(struct dw_slot *slot, size_t size)
{
    struct itimerspec never = {0};
    atomic_store(&slot->tight_stack, size);
    if (dw_perf_event_is_open(&slot->timer))
        ioctl(slot->timer.fd, PERF_EVENT_IOC_DISABLE, 0);
    if (slot->has_ticks)
        timer_settime(slot->ticks, 0, &never, NULL);
}

void dw_timer_settle(struct dw_slot *slot)
{
    if (slot->is_late && dw_perf_event_is_open(&slot->timer) &&
        !atomic_exchange(&slot->is_begun, true))
        ioctl(slot->timer.fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){slot->period_ns});
    slot->is_late = !atomic_load(&slot->is_begun);
}

bool dw_timer_may_be_held_back(uint64_t period_ns)
{
    unsigned long long most = 0;
    FILE *limit = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
    bool is_known = limit && fscanf(limit, "%llu", &most) == 1 && most;
    if (limit)
        fclose(limit);
    return is_known && period_ns < 2 * (UINT64_C(1000000000) / most);
}

uint64_t dw_timer_end_ns(const struct dw_slot *slot)
{
    uint64_t counted_ns;
    if (!dw_perf_event_is_open(&slot->timer) ||
        read(slot->timer.fd, &counted_ns, sizeof counted_ns) < 0)
        return 0;
    return slot->cpu_timed_ns + counted_ns;
}
