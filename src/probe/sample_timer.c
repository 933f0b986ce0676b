/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_timer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "probe/sample_handler.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORTEST_PERIOD 8      /* a part of the usual one */
#define VARY_AFTER_NS 8000000u /* setting a period takes the thread some microseconds */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Its scheduler's clock. */
static clockid_t clock_of(pid_t tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 6);
}

uint64_t dw_thread_cpu_ns(pid_t tid)
{
    struct timespec time;
    return clock_gettime(clock_of(tid), &time) ? 0 : dw_timespec_ns(&time);
}

static bool aim(int fd, pid_t tid, int signal)
{
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    return !fcntl(fd, F_SETOWN_EX, &owner) && !fcntl(fd, F_SETSIG, signal) &&
           !fcntl(fd, F_SETFL, O_ASYNC);
}

static int open_timer(pid_t tid, uint64_t first_ns)
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
    int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 || dw_fd_move(&fd))
        return fd;
    close(fd);
    return -1;
}

/* The program may have closed all files that it does not know. */
static bool is_timer(const struct dw_slot *slot)
{
    uint64_t id;
    return slot->perf_fd >= 0 && !ioctl(slot->perf_fd, PERF_EVENT_IOC_ID, &id) &&
           id == slot->perf_id;
}

/* The first sample comes anywhere in the first period, or threads that are alike and short would
 * be sampled where they are alike, or never. Not at once: the timer goes on like that until the
 * sample sets it right. */
static uint64_t first_period_ns(uint64_t period_ns)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC), least_ns = period_ns / SHORTEST_PERIOD;
    return least_ns + dw_hash_bytes(&now_ns, sizeof now_ns) % (period_ns - least_ns);
}

static bool begin(struct dw_slot *slot, int signal)
{
    return aim(slot->perf_fd, slot->tid, signal) &&
           !ioctl(slot->perf_fd, PERF_EVENT_IOC_ID, &slot->perf_id) &&
           !ioctl(slot->perf_fd, PERF_EVENT_IOC_ENABLE, 0);
}

static bool start_perf(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    slot->period_ns = period_ns;
    slot->cpu_timed_ns = dw_thread_cpu_ns(slot->tid);
    slot->current_period_ns = first_period_ns(period_ns);
    slot->perf_fd = open_timer(slot->tid, slot->current_period_ns);
    if (slot->perf_fd >= 0 && begin(slot, signal))
        return true;
    if (slot->perf_fd >= 0)
        close(slot->perf_fd);
    slot->perf_fd = -1;
    slot->period_ns = slot->current_period_ns = 0;
    return false;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static bool start_ticks(struct dw_slot *slot, uint64_t period_ns, int signal)
{
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

bool dw_timer_start(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    return start_perf(slot, period_ns, signal) || start_ticks(slot, period_ns, signal);
}

void dw_timer_renew(struct dw_slot *slot, uint64_t period_ns, int signal)
{
    if (slot->perf_fd < 0 || is_timer(slot) || atomic_load(&slot->tight_stack))
        return;
    slot->carries = true; /* the time without one was not spent in the kernel */
    slot->perf_fd = -1;
    dw_timer_start(slot, period_ns, signal);
}

bool dw_timer_is_on(const struct dw_slot *slot)
{
    return slot->perf_fd >= 0 || slot->has_ticks;
}

void dw_timer_stop(struct dw_slot *slot)
{
    if (is_timer(slot))
        close(slot->perf_fd);
    slot->perf_fd = -1;
    if (slot->has_ticks)
        timer_delete(slot->ticks);
    slot->has_ticks = false;
}

void dw_timer_use_signal(struct dw_slot *slot, int signal)
{
    if (is_timer(slot))
        fcntl(slot->perf_fd, F_SETSIG, signal);
    if (!slot->has_ticks || atomic_load(&slot->tight_stack))
        return;
    timer_delete(slot->ticks);
    start_ticks(slot, slot->ticks_ns, signal);
}

/* Up to half longer or shorter than the usual one, by chance. */
static uint64_t any_period_ns(struct dw_slot *slot, uint64_t period_ns)
{
    slot->chance = dw_hash_mix(slot->chance + slot->perf_id);
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
    ioctl(slot->perf_fd, PERF_EVENT_IOC_PERIOD, &slot->current_period_ns);
}

void dw_timer_step_aside(struct dw_slot *slot, size_t size)
{
    struct itimerspec never = {0};
    atomic_store(&slot->tight_stack, size);
    if (is_timer(slot))
        ioctl(slot->perf_fd, PERF_EVENT_IOC_DISABLE, 0);
    if (slot->has_ticks)
        timer_settime(slot->ticks, 0, &never, NULL);
}

void dw_timer_settle(struct dw_slot *slot)
{
    if (slot->is_late && is_timer(slot) && !atomic_exchange(&slot->is_begun, true))
        ioctl(slot->perf_fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){slot->period_ns});
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
    if (!is_timer(slot) || read(slot->perf_fd, &counted_ns, sizeof counted_ns) < 0)
        return 0;
    return slot->cpu_timed_ns + counted_ns;
}
