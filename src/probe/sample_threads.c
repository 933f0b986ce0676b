/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/sample_threads.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "probe/sample_handler.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS "/proc/self/task" /* a directory for each thread */
#define OWN_NAMES "dwell-"
#define GROWING_STACK_BYTES (8u << 20) /* the main thread's goes on downwards as it is used */
#define QUICK_THREADS 8                /* those that live for a short time are among the newest */
#define SHORTEST_PERIOD 8              /* a part of the usual one */
#define FIRST_FD 512 /* the program keeps the numbers that it would have without us */

uint64_t dw_thread_cpu_ns(pid_t tid)
{
    struct timespec time;
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6); /* its scheduler's clock */
    return clock_gettime(clock, &time) ? 0 : dw_timespec_ns(&time);
}

void dw_thread_signal(const struct dw_slot *slot, int signal)
{
    siginfo_t info = {.si_code = SI_QUEUE, .si_signo = signal};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = dw_handler_cookie();
    syscall(SYS_rt_tgsigqueueinfo, getpid(), slot->tid, signal, &info);
}

static bool is_our_own(pid_t tid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    return size > 0 && !strncmp(name, OWN_NAMES, strlen(OWN_NAMES));
}

/* The ids of all threads, one after the other; 0 at the end. */
static pid_t next_thread(DIR *listing)
{
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            return (pid_t)atoi(entry->d_name);
    return 0;
}

uint32_t dw_threads_of_program(void)
{
    uint32_t count = 0;
    DIR *listing = opendir(TASKS);
    for (pid_t tid; listing && (tid = next_thread(listing));)
        count += !is_our_own(tid);
    if (listing)
        closedir(listing);
    return count;
}

/* Out of the way of the program, which counts on small numbers. */
static int move_fd(int fd)
{
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) ? FIRST_FD : limit.rlim_cur / 2;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, most < FIRST_FD ? (int)most : FIRST_FD);
    close(fd);
    return moved;
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
    return fd < 0 ? fd : move_fd(fd);
}

/* The program may have closed all files that it does not know. */
static bool is_timer(const struct dw_slot *slot)
{
    uint64_t id;
    return slot->perf_fd >= 0 && !ioctl(slot->perf_fd, PERF_EVENT_IOC_ID, &id) &&
           id == slot->perf_id;
}

static void close_timer(struct dw_slot *slot)
{
    if (is_timer(slot))
        close(slot->perf_fd);
    slot->perf_fd = -1;
}

/* The timer of a thread that has ended says how long it ran. */
static uint64_t counted_cpu_ns(const struct dw_slot *slot)
{
    uint64_t counted_ns;
    if (!is_timer(slot) || read(slot->perf_fd, &counted_ns, sizeof counted_ns) < 0)
        return 0;
    return slot->cpu_timed_ns + counted_ns;
}

/* Of a thread that may have ended. */
static uint64_t slot_cpu_ns(struct dw_slot *slot)
{
    uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
    if (!cpu_ns && !slot->cpu_end_ns)
        slot->cpu_end_ns = counted_cpu_ns(slot);
    if (!cpu_ns)
        cpu_ns = slot->cpu_end_ns;
    return cpu_ns ? cpu_ns : atomic_load(&slot->cpu_done_ns);
}

/* The first sample comes anywhere in the first period, or threads that are alike and short would
 * be sampled where they are alike, or never. Not at once: the timer goes on like that until the
 * sample sets it right. */
static uint64_t first_period_ns(uint64_t period_ns)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC), least_ns = period_ns / SHORTEST_PERIOD;
    return least_ns + dw_hash_bytes(&now_ns, sizeof now_ns) % (period_ns - least_ns);
}

static bool begin_timer(struct dw_slot *slot, pid_t tid, int signal)
{
    return aim(slot->perf_fd, tid, signal) &&
           !ioctl(slot->perf_fd, PERF_EVENT_IOC_ID, &slot->perf_id) &&
           !ioctl(slot->perf_fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void start_timer(struct dw_sample_threads *threads, struct dw_slot *slot, pid_t tid)
{
    slot->cpu_timed_ns = dw_thread_cpu_ns(tid);
    slot->period_ns = threads->period_ns;
    slot->perf_fd = open_timer(tid, first_period_ns(threads->period_ns));
    if (slot->perf_fd >= 0 && begin_timer(slot, tid, threads->signal))
        return;
    if (slot->perf_fd >= 0)
        close(slot->perf_fd);
    slot->perf_fd = -1;
    slot->period_ns = 0;
    threads->is_refused |= dw_thread_cpu_ns(tid) > 0;
}

static struct dw_slot *add_thread(struct dw_sample_threads *threads, pid_t tid)
{
    if (DW_GROW(threads->slots, threads->count, threads->capacity))
        return NULL;
    struct dw_slot *slot = dw_slot_new(tid);
    if (!slot)
        return NULL;
    slot->is_alive = true;
    slot->carries = true;
    slot->cpu_looked_ns = dw_thread_cpu_ns(tid);
    slot->cpu_first_ns = threads->has_looked ? 0 : slot->cpu_looked_ns;
    atomic_store(&slot->cpu_done_ns, slot->cpu_first_ns);
    threads->slots[threads->count++] = slot;
    atomic_store(&slot->tid, tid);
    start_timer(threads, slot, tid);
    return slot;
}

static void drop_thread(struct dw_sample_threads *threads, uint32_t index)
{
    struct dw_slot *slot = threads->slots[index];
    threads->ended_ns += slot_cpu_ns(slot) - slot->cpu_first_ns;
    close_timer(slot);
    dw_slot_free(slot);
    threads->slots[index] = threads->slots[--threads->count];
}

static uint32_t add_if_programs(struct dw_sample_threads *threads, pid_t tid)
{
    pid_t *unknown = NULL;
    for (uint32_t i = 0; i < DW_OWN_THREADS; i++) {
        if (threads->own[i] == tid)
            return 0;
        if (!threads->own[i])
            unknown = &threads->own[i];
    }
    if (!is_our_own(tid))
        return add_thread(threads, tid) != NULL;
    if (unknown)
        *unknown = tid;
    return 0;
}

/* Others than we know of cannot be there when all those are and the kernel counts no more. */
bool dw_sample_threads_changed(struct dw_sample_threads *threads, bool quick)
{
    struct stat counted;
    nlink_t before = threads->link_count;
    threads->link_count = stat(TASKS, &counted) ? 0 : counted.st_nlink;
    if (!threads->link_count || threads->link_count != before)
        return true;
    uint32_t least = quick && threads->count > QUICK_THREADS ? threads->count - QUICK_THREADS : 0;
    for (uint32_t i = threads->count; i-- > least;)
        if (!dw_thread_cpu_ns(threads->slots[i]->tid))
            return true;
    return false;
}

static void forget_ended(struct dw_sample_threads *threads, dw_thread_ended *ended, void *context)
{
    for (uint32_t i = 0; i < DW_OWN_THREADS; i++)
        if (threads->own[i] && !dw_thread_cpu_ns(threads->own[i]))
            threads->own[i] = 0;
    for (uint32_t i = threads->count; i-- > 0;) {
        if (threads->slots[i]->is_alive)
            continue;
        slot_cpu_ns(threads->slots[i]);
        ended(context, threads->slots[i]);
        drop_thread(threads, i);
    }
}

uint32_t dw_sample_threads_look(struct dw_sample_threads *threads, dw_thread_ended *ended,
                                void *context)
{
    uint32_t found = 0;
    DIR *listing = opendir(TASKS);
    if (!listing)
        return 0;
    for (uint32_t i = 0; i < threads->count; i++)
        threads->slots[i]->is_alive = false;
    for (pid_t tid; (tid = next_thread(listing));) {
        struct dw_slot *slot = dw_slot_find(tid);
        if (slot)
            slot->is_alive = true;
        else
            found += add_if_programs(threads, tid);
    }
    closedir(listing);
    forget_ended(threads, ended, context);
    threads->has_looked = true;
    return found;
}

struct dw_slot *dw_sample_threads_enter(struct dw_sample_threads *threads, pid_t tid)
{
    struct dw_slot *slot = dw_slot_find(tid);
    return slot || !dw_thread_cpu_ns(tid) ? slot : add_thread(threads, tid);
}

uint64_t dw_sample_threads_cpu_ns(struct dw_sample_threads *threads)
{
    uint64_t sum_ns = threads->ended_ns;
    for (uint32_t i = 0; i < threads->count; i++)
        sum_ns += slot_cpu_ns(threads->slots[i]) - threads->slots[i]->cpu_first_ns;
    for (uint32_t i = 0; i < DW_OWN_THREADS; i++)
        sum_ns += threads->own[i] ? dw_thread_cpu_ns(threads->own[i]) : 0;
    return sum_ns;
}

/* The mapping that holds the address, from /proc/self/maps. */
static bool find_mapping(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR, start, end) == 2 && address >= *start &&
                address < *end;
    if (maps)
        fclose(maps);
    if (found && strstr(line, "[stack]"))
        *start = *end - GROWING_STACK_BYTES;
    return found;
}

/* The start is let out while the end changes, so that a handler never sees a wrong pair. */
void dw_sample_threads_set_stack(struct dw_slot *slot, uintptr_t start, uintptr_t end)
{
    atomic_store(&slot->stack_end, 0);
    atomic_store(&slot->stack_start, start);
    atomic_store(&slot->stack_end, end);
}

void dw_sample_threads_find_stacks(const struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        struct dw_slot *slot = threads->slots[i];
        uintptr_t start, end, wanted = atomic_exchange(&slot->stack_wanted, 0);
        if (wanted && find_mapping(wanted, &start, &end))
            dw_sample_threads_set_stack(slot, start, end);
    }
}

void dw_sample_threads_settle(const struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        struct dw_slot *slot = threads->slots[i];
        if (slot->is_late && is_timer(slot) && !atomic_exchange(&slot->is_begun, true))
            ioctl(slot->perf_fd, PERF_EVENT_IOC_PERIOD, &slot->period_ns);
        slot->is_late = !atomic_load(&slot->is_begun);
    }
}

void dw_sample_threads_stop(struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        slot_cpu_ns(threads->slots[i]);
        close_timer(threads->slots[i]);
    }
}

void dw_sample_threads_release(struct dw_sample_threads *threads)
{
    while (threads->count)
        drop_thread(threads, threads->count - 1);
    dw_slots_trim();
    free(threads->slots);
    *threads = (struct dw_sample_threads){0};
}

void dw_sample_threads_disown(struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++)
        atomic_store(&threads->slots[i]->is_busy, false);
    dw_sample_threads_release(threads);
}

void dw_sample_threads_use_signal(struct dw_sample_threads *threads, int signal)
{
    threads->signal = signal;
    for (uint32_t i = 0; i < threads->count; i++)
        if (threads->slots[i]->perf_fd >= 0)
            fcntl(threads->slots[i]->perf_fd, F_SETSIG, signal);
}

bool dw_sample_threads_are_busy(const struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++)
        if (atomic_load(&threads->slots[i]->is_busy))
            return true;
    return false;
}
