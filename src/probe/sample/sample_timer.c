/* SPDX-License-Identifier: MIT
 * Periods vary at random around the one that is asked for. The program may close our files, which
 * have numbers that it hardly reaches, so each use checks that the event is still ours. */
#define _GNU_SOURCE
#include "probe/sample/sample_timer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "probe/sample/sample_handler.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
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

/* The kernel sends the signal to the thread itself. */
static bool direct_signals(struct dw_slot *slot, int signal)
{
    struct f_owner_ex owner = {F_OWNER_TID, slot->tid};
    int fd = slot->timer.fd;
    return !fcntl(fd, F_SETOWN_EX, &owner) && !fcntl(fd, F_SETSIG, signal) &&
           !fcntl(fd, F_SETFL, O_ASYNC) && !ioctl(fd, PERF_EVENT_IOC_ID, &slot->timer.id) &&
           !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static bool open_perf(struct dw_slot *slot, uint64_t first_ns, int signal)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = first_ns,
        .wakeup_events = 1,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int *fd = &slot->timer.fd;
    *fd = (int)syscall(SYS_perf_event_open, &attributes, slot->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (*fd >= 0 && dw_fd_move(fd) && direct_signals(slot, signal))
        return true;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return false;
}

/* Whether its file is still what it was. */
static bool is_perf_open(const struct dw_slot *slot)
{
    uint64_t id;
    return slot->timer.fd >= 0 && !ioctl(slot->timer.fd, PERF_EVENT_IOC_ID, &id) &&
           id == slot->timer.id;
}

static bool start_perf(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    slot->period_ns = period_ns;
    slot->cpu_timed_ns = dw_thread_cpu_ns(slot->tid);
    slot->current_period_ns = first_period_ns(period_ns);
    if (open_perf(slot, slot->current_period_ns, signal))
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

/* The thread may have registered a small stack just before the timer began. */
static void mind_stack(struct dw_slot *slot)
{
    size_t size = (size_t)atomic_load(&slot->tight_stack);
    if (size)
        dw_timer_step_aside(slot, size);
}

void dw_timer_tick(struct dw_slot *slot, int signal)
{
    if (slot->has_ticks || !slot->period_ns || atomic_load(&slot->tight_stack) ||
        !ticks_wait_for_end_of_call())
        return;
    slot->tick_cpu_ns = dw_thread_cpu_ns(slot->tid);
    start_ticks(slot, slot->period_ns, signal);
    mind_stack(slot);
}

bool dw_timer_start(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    bool is_on = start_perf(slot, period_ns, signal) || start_ticks(slot, period_ns, signal);
    mind_stack(slot);
    return is_on;
}

void dw_timer_renew(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    if (slot->timer.fd < 0 || is_perf_open(slot) || atomic_load(&slot->tight_stack))
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
    if (is_perf_open(slot))
        close(slot->timer.fd);
    slot->timer.fd = -1;
    if (slot->has_ticks)
        timer_delete(slot->ticks);
    slot->has_ticks = false;
}

void dw_timer_use_signal(struct dw_slot *slot, int signal)
{
    if (is_perf_open(slot))
        fcntl(slot->timer.fd, F_SETSIG, signal);
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
    if (is_perf_open(slot))
        ioctl(slot->timer.fd, PERF_EVENT_IOC_DISABLE, 0);
    if (slot->has_ticks)
        timer_settime(slot->ticks, 0, &never, NULL);
}

void dw_timer_settle(struct dw_slot *slot)
{
    if (slot->is_late && is_perf_open(slot) && !atomic_exchange(&slot->is_begun, true))
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
    if (!is_perf_open(slot) || read(slot->timer.fd, &counted_ns, sizeof counted_ns) < 0)
        return 0;
    return slot->cpu_timed_ns + counted_ns;
}
