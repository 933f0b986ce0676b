/* SPDX-License-Identifier: MIT
 * Everything here is done under one lock: by the sampler's thread most of the time, by those who
 * start, stop and fork otherwise. Handlers know nothing of it. */
#define _GNU_SOURCE
#include "probe/probe_sampler.h"

#include "base/clock.h"
#include "base/error.h"
#include "cpython/thread_births.h"
#include "probe/sample_births.h"
#include "probe/sample_code.h"
#include "probe/sample_handler.h"
#include "probe/sample_places.h"
#include "probe/sample_sleep.h"
#include "probe/sample_threads.h"
#include "probe/sample_timer.h"
#include "record/recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAME "dwell-sample"       /* of the thread, by which it is known not to be the program's */
#define LOOK_NS 10000000u         /* threads, modules and rings are looked at so often */
#define OWED_LOOK_NS 1000000u     /* at threads with time in the kernel that is not placed yet */
#define FLUSH_NS 500000000u       /* a kill costs no more than this, */
#define FIRST_FLUSH_NS 50000000u  /* and, when it comes early, */
#define FLUSH_PART 8              /* this part of the recording: pools kill their workers */
#define QUICK_LOOK_NS 1000000u    /* for threads, while such come that do not say so */
#define QUICK_LOOKS_NS 200000000u /* for so long after the last one */
#define UNSEEN_NS 5000000u        /* less may be what clocks differ by */
#define PATIENCE_NS 5000000u      /* of CPU time without a sample */

static struct {
    pthread_mutex_t turn; /* taken first, by those who start, stop and fork: one after the other */
    pthread_mutex_t lock;
    bool is_on;
    bool runs, stops; /* the thread */
    bool is_paused;   /* the thread makes way for a fork */
    bool was_on;      /* in a forked child: the parent was recording */
    bool is_child;    /* of one that was: a file is made when there is something to tell */
    pthread_t thread;
    struct dw_probe_sampler_options options;
    char log_file[PATH_MAX];
    size_t stem_size; /* of its name: children put their pid behind it */
    struct dw_sample_log log;
    struct dw_sample_places places;
    struct dw_sample_threads threads;
    struct dw_sleep_reader sleep;
    bool owes; /* some thread has time in the kernel that is not in the log yet */
    uint64_t begun_ns, looked_ns, flushed_ns, quick_ns; /* the last looks, and the last flush */
    uint64_t found_ns;     /* when a thread was found that did not say so */
    uint64_t own_ended_ns; /* CPU time of this thread when there was another */
    uint64_t unseen_ns;    /* CPU time that is counted, or is not ours to */
    sem_t wakes;           /* the thread, before its time */
} sampler = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_turn(void)
{
    pthread_mutex_lock(&sampler.turn);
    pthread_mutex_lock(&sampler.lock);
}

static void end_turn(void)
{
    pthread_mutex_unlock(&sampler.lock);
    pthread_mutex_unlock(&sampler.turn);
}

bool dw_probe_sampler_is_on(void)
{
    return sampler.is_on;
}

static void end_thread(void *unused, struct dw_slot *slot)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    (void)unused;
    dw_sample_drain(&sampler.places, slot);
    dw_sleep_pay_kernel(&sampler.sleep, slot, now_ns, true);
    dw_sample_drain_rest(&sampler.places, slot, now_ns);
    dw_sleep_finish(&sampler.sleep, slot, now_ns);
}

static void drain_all(void)
{
    for (uint32_t i = 0; i < sampler.threads.count; i++)
        dw_sample_drain(&sampler.places, sampler.threads.slots[i]);
}

/* The CPU time of the process that is no thread's we have seen, since some moment. */
static uint64_t unseen_cpu_ns(void)
{
    uint64_t whole_ns = dw_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return whole_ns - dw_sample_threads_cpu_ns(&sampler.threads) - sampler.own_ended_ns;
}

/* Threads that came and went unseen are missed, as many samples as they would have had. */
static void count_unseen(void)
{
    uint64_t unseen_ns = unseen_cpu_ns(), period_ns = sampler.options.period_ns;
    if (unseen_ns < sampler.unseen_ns + UNSEEN_NS || unseen_ns > sampler.unseen_ns + INT64_MAX)
        return;
    uint64_t missed = (unseen_ns - sampler.unseen_ns) / period_ns;
    sampler.log.sampling.missed += missed;
    sampler.unseen_ns += missed * period_ns;
}

static bool has_file_to_make(void)
{
    return sampler.is_child && sampler.log.fd < 0 && !sampler.log.writer.error;
}

/* Tells the trouble once; what comes after it is lost. */
static void flush(bool last)
{
    bool was_good = !sampler.log.writer.error;
    if (has_file_to_make() && dw_sample_log_is_empty(&sampler.log))
        return;
    dw_sleep_name_threads(&sampler.sleep, &sampler.threads, true);
    count_unseen();
    if (has_file_to_make())
        dw_sample_log_move(&sampler.log, sampler.log_file);
    dw_sample_log_flush(&sampler.log, last);
    if (was_good && sampler.log.writer.error) {
        errno = sampler.log.writer.saved_errno;
        dprintf(STDERR_FILENO, "dwell: %s: %s; samples are lost from now on\n", sampler.log_file,
                dw_error_text(sampler.log.writer.error));
    }
    sampler.flushed_ns = dw_clock_ns(CLOCK_MONOTONIC);
}

/* Addresses in the rings are those of the modules as they were, so the rings come first. */
static void refresh_natives(void)
{
    struct dw_sample_natives *natives = &sampler.places.natives;
    if (dw_sample_natives_changed(natives)) {
        drain_all();
        dw_sample_places_forget(&sampler.places);
        dw_sample_natives_refresh(natives);
    } else if (!dw_sample_threads_are_busy(&sampler.threads)) {
        dw_sample_natives_reap(natives);
    }
}

static void keep_signal(void)
{
    if (dw_handler_is_ours())
        return;
    int signal = dw_handler_install();
    if (signal > 0)
        dw_sample_threads_use_signal(&sampler.threads, signal);
}

/* A thread that is ready to run but has no CPU may be on its way out of a system call, which a
 * signal would still interrupt. It also stands where kernels like to take a CPU away, which is
 * not where it spends its time. One that never has a CPU when we have one is asked all the same. */
static bool may_be_signalled(const struct dw_slot *slot, uint64_t cpu_ns)
{
    return dw_thread_cpu_ns(slot->tid) > cpu_ns || cpu_ns - slot->cpu_asked_ns > PATIENCE_NS;
}

/* Without timers: whoever ran since the last time is asked for a sample. */
static void send_signals(uint64_t now_ns)
{
    for (uint32_t i = 0; i < sampler.threads.count; i++) {
        struct dw_slot *slot = sampler.threads.slots[i];
        if (dw_timer_is_on(slot))
            continue;
        uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
        if (cpu_ns - slot->cpu_asked_ns <= sampler.options.period_ns / 2)
            continue;
        if (!dw_sleep_account(&sampler.sleep, slot, cpu_ns, now_ns)) {
            if (!may_be_signalled(slot, cpu_ns))
                continue;
            dw_thread_signal(slot, sampler.threads.signal);
        }
        slot->cpu_asked_ns = cpu_ns;
    }
}

static bool is_wall(void)
{
    return sampler.options.mode == DW_SAMPLE_WALL;
}

static void look_at_kernel(uint64_t now_ns)
{
    int signal = sampler.threads.signal;
    for (uint32_t i = 0; i < sampler.threads.count; i++) {
        struct dw_slot *slot = sampler.threads.slots[i];
        if (slot->silent_looks)
            dw_timer_renew(slot, sampler.options.period_ns, signal);
        if (slot->period_ns)
            dw_sleep_look_at_kernel(&sampler.sleep, slot, signal, now_ns);
    }
}

static void look_at_sleepers(uint64_t now_ns)
{
    for (uint32_t i = 0; i < sampler.threads.count; i++)
        dw_sleep_look(&sampler.sleep, sampler.threads.slots[i], now_ns);
}

static void pay_kernel(uint64_t now_ns)
{
    sampler.owes = false;
    for (uint32_t i = 0; i < sampler.threads.count; i++) {
        struct dw_slot *slot = sampler.threads.slots[i];
        dw_sleep_pay_kernel(&sampler.sleep, slot, now_ns, false);
        sampler.owes |= slot->owed_ns > 0;
    }
}

/* Only the interpreter can say what a task is, when it is at leave to. */
static void ask_for_tasks(void)
{
    static bool was_asked;
    if (sampler.places.has_event_loop && !was_asked && !dw_py_tasks_are_known())
        was_asked = !Py_AddPendingCall(dw_probe_sampler_learn_tasks, NULL);
}

/* Threads that announced themselves. */
static void enter_births(void)
{
    struct dw_birth *next;
    for (struct dw_birth *birth = dw_births_take(); birth; birth = next) {
        bool was_found = dw_slot_find(birth->tid);
        struct dw_slot *slot = dw_sample_threads_enter(&sampler.threads, birth->tid);
        if (was_found) /* only just before it said so */
            sampler.found_ns = 0;
        if (slot) {
            dw_sample_threads_set_stack(slot, birth->stack_start, birth->stack_end);
            dw_sleep_set_name(&sampler.sleep, slot, birth->name, birth->name_size);
        }
        next = birth->next;
        free(birth);
    }
}

static void look_at_threads(uint64_t now_ns, bool quick)
{
    sampler.quick_ns = now_ns;
    if (!dw_sample_threads_changed(&sampler.threads, quick))
        return;
    if (dw_sample_threads_look(&sampler.threads, end_thread, NULL))
        sampler.found_ns = now_ns;
}

/* Threads that are not announced tend to come one after the other. */
static bool looks_quickly(uint64_t now_ns)
{
    return sampler.found_ns && now_ns - sampler.found_ns < QUICK_LOOKS_NS;
}

static uint64_t flush_period_ns(uint64_t now_ns)
{
    uint64_t part_ns = (now_ns - sampler.begun_ns) / FLUSH_PART;
    return part_ns < FIRST_FLUSH_NS ? FIRST_FLUSH_NS : part_ns < FLUSH_NS ? part_ns : FLUSH_NS;
}

static void work(uint64_t now_ns)
{
    if (now_ns - sampler.looked_ns >= LOOK_NS) {
        sampler.looked_ns = now_ns;
        keep_signal();
        look_at_threads(now_ns, false);
        for (uint32_t i = 0; i < sampler.threads.count; i++)
            dw_timer_settle(sampler.threads.slots[i]);
        dw_sample_threads_find_stacks(&sampler.threads);
        refresh_natives();
        drain_all();
        look_at_kernel(now_ns);
        dw_sleep_name_threads(&sampler.sleep, &sampler.threads, false);
        ask_for_tasks();
    } else if (looks_quickly(now_ns) && now_ns - sampler.quick_ns >= QUICK_LOOK_NS) {
        look_at_threads(now_ns, true);
        dw_sleep_name_threads(&sampler.sleep, &sampler.threads, false);
    }
    if (sampler.threads.is_refused)
        send_signals(now_ns);
    pay_kernel(now_ns);
    if (is_wall())
        look_at_sleepers(now_ns);
    if (now_ns - sampler.flushed_ns >= flush_period_ns(now_ns))
        flush(false);
}

static uint64_t interval_ns(uint64_t now_ns)
{
    uint64_t most_ns = looks_quickly(now_ns) ? QUICK_LOOK_NS
                       : sampler.owes        ? OWED_LOOK_NS
                                             : LOOK_NS;
    bool is_by_period = sampler.threads.is_refused || is_wall();
    return is_by_period && sampler.options.period_ns < most_ns ? sampler.options.period_ns
                                                               : most_ns;
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, NAME); /* it may look before its maker runs again */
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC), next_ns = now_ns;
    pthread_mutex_lock(&sampler.lock);
    while (!sampler.stops) {
        if (now_ns >= next_ns)
            next_ns += interval_ns(now_ns);
        pthread_mutex_unlock(&sampler.lock);
        struct timespec until = {(time_t)(next_ns / 1000000000u), (long)(next_ns % 1000000000u)};
        sem_clockwait(&sampler.wakes, CLOCK_MONOTONIC, &until);
        pthread_mutex_lock(&sampler.lock);
        now_ns = dw_clock_ns(CLOCK_MONOTONIC);
        if (sampler.stops)
            break;
        enter_births();
        if (now_ns < next_ns)
            continue;
        work(now_ns);
        if (now_ns > next_ns + LOOK_NS) /* the machine slept, or was too slow: do not catch up */
            next_ns = now_ns;
    }
    sampler.own_ended_ns += dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_unlock(&sampler.lock);
    return NULL;
}

/* In the new thread. */
static void on_birth(const char *name, size_t size)
{
    if (!sampler.is_on)
        return;
    dw_births_announce(name, size);
    sem_post(&sampler.wakes);
}

/* With the lock. The thread takes no signals: they are the program's. */
static void start_thread(void)
{
    sigset_t all, old;
    if (sampler.runs)
        return;
    sampler.stops = sampler.is_paused = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    sampler.runs = !pthread_create(&sampler.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (sampler.runs)
        pthread_setname_np(sampler.thread, NAME); /* a fork may be next */
}

/* In a turn. The lock is given up meanwhile. */
static void stop_thread(void)
{
    if (!sampler.runs)
        return;
    sampler.stops = true;
    sampler.runs = false;
    pthread_t thread = sampler.thread;
    sem_post(&sampler.wakes);
    pthread_mutex_unlock(&sampler.lock);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&sampler.lock);
}

static int open_log(void)
{
    const struct dw_probe_sampler_options *options = &sampler.options;
    const char *file = sampler.is_child ? NULL : options->log_file;
    int error = dw_sample_log_open(&sampler.log, file, options->timeline);
    sampler.log.sampling = (struct dw_sampling){
        .mode = options->mode,
        .native = options->native,
        .period_ns = options->period_ns,
    };
    return error;
}

static void release(void)
{
    dw_births_discard();
    dw_sample_threads_release(&sampler.threads);
    dw_sleep_reader_release(&sampler.sleep);
    dw_sample_places_release(&sampler.places);
    dw_sample_log_release(&sampler.log);
}

/* Before the first samples, which would have to read stacks with care: that of this thread, and
 * those of threads that wait. */
static void want_stacks(void)
{
    for (uint32_t i = 0; i < sampler.threads.count; i++) {
        struct dw_slot *slot = sampler.threads.slots[i];
        atomic_store(&slot->stack_wanted, slot->tid == gettid()
                                              ? (uintptr_t)__builtin_frame_address(0)
                                              : dw_sleep_stack_pointer(slot));
    }
}

static int begin(void)
{
    int signal = dw_handler_install();
    int error = signal < 0 ? signal : dw_codes_reset();
    if (!error)
        error = dw_tasks_reset();
    if (!error)
        error = open_log();
    if (!error)
        error = dw_sample_places_init(&sampler.places, &sampler.log);
    if (!error)
        error = dw_sample_natives_init(&sampler.places.natives, sampler.options.native);
    if (!error)
        error = dw_sleep_reader_init(&sampler.sleep, &sampler.places);
    if (error)
        return error;
    sampler.threads = (struct dw_sample_threads){
        .period_ns = sampler.options.period_ns,
        .signal = signal,
    };
    sampler.is_on = true;
    dw_sample_threads_look(&sampler.threads, end_thread, NULL);
    want_stacks();
    dw_sample_threads_find_stacks(&sampler.threads);
    dw_handler_enable(true);
    sampler.found_ns = sampler.own_ended_ns = 0;
    sampler.unseen_ns = unseen_cpu_ns();
    sampler.begun_ns = sampler.looked_ns = sampler.flushed_ns = dw_clock_ns(CLOCK_MONOTONIC);
    if (sampler.log.fd >= 0)
        flush(false); /* so that the file can be read from the start on */
    start_thread();
    return 0;
}

/* The program may change its directory. */
static int set_log_file(const char *path)
{
    char directory[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(directory, sizeof directory))
        return DW_ERR_IO;
    int size = snprintf(sampler.log_file, sizeof sampler.log_file, "%s%s%s", directory,
                        *directory ? "/" : "", path);
    errno = ENAMETOOLONG;
    if (size >= (int)sizeof sampler.log_file)
        return DW_ERR_IO;
    sampler.stem_size = dw_log_stem_size(sampler.log_file);
    return 0;
}

static void before_fork(void);
static void after_fork_in_parent(void);
static void after_fork_in_child(void);

int dw_probe_sampler_start(const struct dw_probe_sampler_options *options)
{
    static bool watches_forks;
    int error = DW_ERR_ARGUMENT;
    dw_recorder_watch_forks();
    begin_turn();
    if (!watches_forks) {
        sem_init(&sampler.wakes, 0, 0);
        watches_forks = !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
    if (!sampler.is_on) {
        sampler.options = *options;
        sampler.is_child = false;
        error = options->log_file ? set_log_file(options->log_file) : 0;
        if (options->log_file)
            sampler.options.log_file = sampler.log_file;
        if (!error)
            error = begin();
        if (error) {
            int saved_errno = errno;
            release();
            errno = saved_errno;
        }
    }
    end_turn();
    return error;
}

int dw_probe_sampler_stop(struct dw_buffer *memory)
{
    begin_turn();
    sampler.was_on = false;
    if (!sampler.is_on) {
        end_turn();
        return 0;
    }
    stop_thread();
    enter_births();
    dw_handler_enable(false);
    dw_sample_threads_stop(&sampler.threads);
    while (dw_sample_threads_are_busy(&sampler.threads))
        sched_yield();
    for (uint32_t i = 0; i < sampler.threads.count; i++)
        end_thread(NULL, sampler.threads.slots[i]);
    flush(true);
    int error = sampler.log.writer.error;
    errno = sampler.log.writer.saved_errno;
    if (memory && sampler.log.fd < 0)
        dw_buffer_append(memory, sampler.log.writer.memory.data, sampler.log.writer.memory.size);
    release();
    sampler.is_on = false;
    end_turn();
    return error;
}

void dw_probe_sampler_watch_births(void)
{
    dw_py_births_watch(on_birth);
}

void dw_probe_sampler_flush_last(void)
{
    pthread_mutex_lock(&sampler.lock);
    if (sampler.is_on) {
        drain_all();
        flush(true);
    }
    pthread_mutex_unlock(&sampler.lock);
}

/* A process with one thread stays one while it forks: Python warns about others. */
static void before_fork(void)
{
    begin_turn();
    if (sampler.runs && dw_threads_of_program() == 1) {
        stop_thread();
        sampler.is_paused = true;
    }
}

static int go_on(void *unused)
{
    (void)unused;
    begin_turn();
    if (sampler.is_on && sampler.is_paused)
        start_thread();
    end_turn();
    return 0;
}

/* The thread comes back with the next instructions of Python code, when the fork is over. */
static void after_fork_in_parent(void)
{
    bool is_paused = sampler.is_paused;
    end_turn();
    if (is_paused)
        Py_AddPendingCall(go_on, NULL);
}

/* The recording is the parent's; nothing of it is written here. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&sampler.turn, NULL);
    pthread_mutex_init(&sampler.lock, NULL);
    sem_init(&sampler.wakes, 0, 0);
    sampler.runs = sampler.is_paused = false;
    if (!sampler.is_on)
        return;
    dw_handler_enable(false);
    dw_sample_threads_disown(&sampler.threads);
    release();
    sampler.is_on = false;
    sampler.was_on = true;
}

void dw_probe_sampler_continue(void)
{
    begin_turn();
    sampler.is_child = true;
    if (sampler.was_on && !sampler.is_on && sampler.options.log_file &&
        !dw_log_name_child(sampler.log_file, sizeof sampler.log_file, sampler.stem_size) && begin())
        release();
    sampler.was_on = false;
    end_turn();
}
