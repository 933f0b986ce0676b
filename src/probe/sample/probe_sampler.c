/* SPDX-License-Identifier: MIT
 * Everything here is done under one lock: mostly by the sampler's thread, else by those who start,
 * stop and fork. */
#define _GNU_SOURCE
#include "probe/sample/probe_sampler.h"

#include "base/clock.h"
#include "base/error.h"
#include "cpython/thread_births.h"
#include "probe/sample/sample_births.h"
#include "probe/sample/sample_recording.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LATE_NS 10000000u  /* the machine slept, or was too slow: do not catch up */
#define BIRTHS_NS 1000000u /* threads that begin within this time are entered together */

static struct {
    pthread_mutex_t turn; /* taken first, by those who start, stop and fork: one after the other */
    pthread_mutex_t lock;
    bool is_on;
    bool runs;                    /* the thread */
    _Atomic bool stops;           /* it is to end */
    _Atomic bool asks_for_births; /* the interpreter is to tell of births, and does not yet */
    _Atomic bool is_starting;     /* its thread has no name yet */
    bool is_paused;               /* the thread makes way for a fork */
    pthread_t thread;
    sem_t wakes; /* wakes the thread early */
    struct dw_sampler_options options;
    struct dw_sample_recording recording;
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

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* Until then, or until somebody wants something. Threads that begin wait a moment for others, so
 * that those which end at once, as in a pool of its own for each task, cost next to nothing. */
static void wait_until(uint64_t next_ns)
{
    struct timespec until = timespec_of(next_ns);
    if (sem_clockwait(&sampler.wakes, CLOCK_MONOTONIC, &until) || sampler.stops)
        return;
    nanosleep(&(struct timespec){.tv_nsec = BIRTHS_NS}, NULL);
    while (!sem_trywait(&sampler.wakes))
        ;
}

static void on_birth(const char *name, size_t size);

static int watch_births(void *unused)
{
    (void)unused;
    atomic_store(&sampler.asks_for_births, false);
    if (sampler.is_on)
        dw_py_births_watch(on_birth);
    return 0;
}

/* A thread was found that did not announce itself: `threading` may have been imported since samples
 * began. */
static void ask_for_births(void)
{
    if (sampler.recording.found_ns && !dw_births_come() &&
        !atomic_exchange(&sampler.asks_for_births, true) && Py_AddPendingCall(watch_births, NULL))
        atomic_store(&sampler.asks_for_births, false);
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, DW_SAMPLER_THREAD);
    atomic_store(&sampler.is_starting, false);
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC), next_ns = now_ns;
    atomic_fetch_add(&dw_own_threads, 1);
    pthread_mutex_lock(&sampler.lock);
    while (!sampler.stops) {
        if (now_ns >= next_ns)
            next_ns += dw_sample_recording_interval_ns(&sampler.recording, now_ns);
        pthread_mutex_unlock(&sampler.lock);
        wait_until(next_ns);
        pthread_mutex_lock(&sampler.lock);
        now_ns = dw_clock_ns(CLOCK_MONOTONIC);
        if (sampler.stops)
            break;
        dw_sample_recording_enter_births(&sampler.recording);
        if (now_ns < next_ns)
            continue;
        dw_sample_recording_work(&sampler.recording, now_ns);
        ask_for_births();
        if (now_ns > next_ns + LATE_NS)
            next_ns = now_ns;
    }
    atomic_fetch_sub(&dw_own_threads, 1);
    sampler.recording.own_ended_ns += dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
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
static int start_thread(void)
{
    sigset_t all, old;
    if (sampler.runs)
        return 0;
    sampler.stops = false;
    sampler.is_paused = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_store(&sampler.is_starting, true);
    errno = pthread_create(&sampler.thread, NULL, run, NULL);
    sampler.runs = !errno;
    if (!sampler.runs)
        atomic_store(&sampler.is_starting, false);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return sampler.runs ? 0 : DW_ERR_IO;
}

/* A thread is named by itself: doing so from outside opens a file under /proc, and the kernel takes
 * milliseconds to forget such files of a process that ends. */
bool dw_probe_sampler_is_starting(void)
{
    return atomic_load(&sampler.is_starting);
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

/* Threads may announce themselves from the first look on. */
static int begin(void)
{
    sampler.is_on = true;
    int error = dw_sample_recording_begin(&sampler.recording, &sampler.options);
    if (!error && (error = start_thread())) {
        int saved_errno = errno;
        dw_sample_recording_end(&sampler.recording);
        dw_sample_recording_release(&sampler.recording);
        errno = saved_errno;
    }
    sampler.is_on = !error;
    return error;
}

/* With the lock: of a child that has not gone on, which has nothing to tell. */
static void forget_ledger(void)
{
    if (sampler.recording.log)
        dw_ledger_stop(sampler.recording.log);
    dw_ledger_release(sampler.recording.log);
    sampler.recording.log = NULL;
}

int dw_probe_sampler_start(const struct dw_sampler_options *options)
{
    int error = DW_ERR_ARGUMENT;
    if (!dw_sample_probe.bit)
        sem_init(&sampler.wakes, 0, 0);
    dw_probe_add(&dw_sample_probe);
    begin_turn();
    if (!sampler.is_on) {
        sampler.options = *options;
        forget_ledger();
        error = begin();
        sampler.options.log_file = NULL; /* it was theirs */
    }
    end_turn();
    return error;
}

int dw_probe_sampler_stop(struct dw_buffer *memory)
{
    int error = 0;
    begin_turn();
    if (sampler.is_on) {
        stop_thread();
        error = dw_sample_recording_end(&sampler.recording);
        const struct dw_ledger *log = sampler.recording.log;
        if (memory && !log->path)
            dw_buffer_append(memory, log->sink.writer.memory.data, log->sink.writer.memory.size);
        int saved_errno = errno;
        dw_sample_recording_release(&sampler.recording);
        errno = saved_errno;
        sampler.is_on = false;
    }
    forget_ledger();
    end_turn();
    return error;
}

static void stop_for_good(void)
{
    dw_probe_sampler_stop(NULL);
}

void dw_probe_sampler_watch_births(void)
{
    dw_py_births_watch(on_birth);
}

static void flush_last(void)
{
    pthread_mutex_lock(&sampler.lock);
    if (sampler.is_on)
        dw_sample_recording_save(&sampler.recording);
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
    if (sampler.is_on)
        dw_sample_recording_before_fork(&sampler.recording);
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

static void after_fork_in_child(void)
{
    pthread_mutex_init(&sampler.turn, NULL);
    pthread_mutex_init(&sampler.lock, NULL);
    sem_init(&sampler.wakes, 0, 0);
    sampler.runs = sampler.is_paused = false;
    sampler.asks_for_births = false;
    atomic_store(&sampler.is_starting, false);
    if (!sampler.is_on)
        return;
    dw_sample_recording_abandon(&sampler.recording);
    if (!sampler.recording.log->path)
        forget_ledger();
    sampler.is_on = false;
}

/* In a forked child, in a file of its own. */
static void continue_in_child(void)
{
    begin_turn();
    if (!sampler.is_on && sampler.recording.log)
        begin();
    end_turn();
}

struct dw_probe dw_sample_probe = {
    .name = "samples",
    .flush = flush_last,
    .stop = stop_for_good,
    .before = before_fork,
    .after = after_fork_in_parent,
    .forked = after_fork_in_child,
    .go_on = continue_in_child,
};
