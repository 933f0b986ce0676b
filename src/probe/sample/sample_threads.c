/* SPDX-License-Identifier: MIT
 * The kernel's list of threads is read when its number of links changes or a thread we know has
 * ended. dwell's own threads are left out by their names. */
#define _GNU_SOURCE
#include "probe/sample/sample_threads.h"

#include "base/grow.h"
#include "probe/last_words.h"
#include "probe/sample/probe_sampler.h"
#include "probe/sample/sample_handler.h"
#include "probe/sample/sample_timer.h"
#include "record/recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS "/proc/self/task"        /* a directory for each thread */
#define GROWING_STACK_BYTES (8u << 20) /* the main thread's goes on downwards as it is used */
#define NAME_TRIES 200                 /* until one of ours has its name, on a busy machine */
#define NAME_PAUSE_NS 100000
#define QUICK_THREADS 8 /* those that live for a short time are among the newest */

void dw_thread_signal(const struct dw_slot *slot, int signal)
{
    siginfo_t info = {.si_code = SI_QUEUE, .si_signo = signal};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = dw_handler_cookie();
    syscall(SYS_rt_tgsigqueueinfo, getpid(), slot->tid, signal, &info);
}

/* Goes by the name, which a program may have too: its main thread, at least, is not ours. A thread
 * of ours may be listed before it has its name. */
static bool is_our_own(pid_t tid)
{
    char path[64], name[32] = "";
    if (tid == getpid())
        return false;
    for (int i = 0; i < NAME_TRIES && (dw_flusher_is_starting() || dw_last_words_are_starting() ||
                                       dw_probe_sampler_is_starting());
         i++)
        nanosleep(&(struct timespec){.tv_nsec = NAME_PAUSE_NS}, NULL);
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    return size > 0 &&
           (!strcmp(name, DW_SAMPLER_THREAD "\n") || !strcmp(name, DW_FLUSHER_THREAD "\n") ||
            !strcmp(name, DW_LAST_THREAD "\n"));
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

/* CPU time of a thread that may have ended. */
static uint64_t slot_cpu_ns(struct dw_slot *slot)
{
    uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
    if (!cpu_ns && !slot->cpu_end_ns)
        slot->cpu_end_ns = dw_timer_end_ns(slot);
    if (!cpu_ns)
        cpu_ns = slot->cpu_end_ns;
    return cpu_ns ? cpu_ns : atomic_load(&slot->cpu_done_ns);
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
    if (!dw_timer_start(slot, threads->period_ns, threads->signal))
        threads->is_refused |= dw_thread_cpu_ns(tid) > 0;
    return slot;
}

static void drop_thread(struct dw_sample_threads *threads, uint32_t index)
{
    struct dw_slot *slot = threads->slots[index];
    threads->ended_ns += slot_cpu_ns(slot) - slot->cpu_first_ns;
    dw_timer_stop(slot);
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

/* When all threads that we know are there, and the kernel counts as many, there are no others. */
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

/* The start is 0 while the end changes, so that a handler never sees a wrong pair. */
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

void dw_sample_threads_stop(struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        slot_cpu_ns(threads->slots[i]);
        dw_timer_stop(threads->slots[i]);
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
        atomic_store(&threads->slots[i]->handlers, 0);
    dw_sample_threads_release(threads);
}

void dw_sample_threads_use_signal(struct dw_sample_threads *threads, int signal)
{
    threads->signal = signal;
    for (uint32_t i = 0; i < threads->count; i++)
        dw_timer_use_signal(threads->slots[i], signal);
}

bool dw_sample_threads_are_busy(const struct dw_sample_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++)
        if (atomic_load(&threads->slots[i]->handlers))
            return true;
    return false;
}
