/* SPDX-License-Identifier: MIT
 * The handler writes nothing itself: it wakes a thread that does, and waits for it, so the logs are
 * written with the usual locks and allocations. If the interrupted thread holds one of those, the
 * wait is in vain, and limited. */
#define _GNU_SOURCE
#include "probe/last_words.h"

#include "base/clock.h"
#include "base/error.h"
#include "record/probes.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 5000000000u
#define HOLD_NS 500000000u /* a thread that may be in the middle of a lock */
#define PATIENCES 12 /* with somebody who has the GIL and is at work, such as on a large heap */

/* Signals that end a process without a core dump, so nothing is wrong with it. */
static const int endings[] = {SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2};
#define ENDINGS (sizeof endings / sizeof *endings)

static struct {
    pthread_mutex_t turn; /* of those who start, stop and fork */
    bool is_on;
    bool stops;     /* the thread */
    bool is_paused; /* the thread makes way for a fork */
    atomic_bool runs, is_starting;
    pthread_t thread;
    pid_t pid;
    sem_t wakes, done;
    bool needs_gil;      /* some probe does */
    atomic_int number;   /* of the signal that is the end; 0 until then */
    bool leaves_gil;     /* the thread that got it has the GIL, and waits */
    atomic_bool goes_on; /* the thread that got the signal goes on for the moment */
    atomic_bool works;   /* what needs the GIL has it */
    atomic_uint waits;   /* how often patience came to its end */
} last = {.turn = PTHREAD_MUTEX_INITIALIZER};

/* [signal-safe] */
static void end_by(int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigaction(number, &usual, NULL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

/* Whoever waited for the GIL in vain is given up; whoever has it gets more time. [signal-safe] */
static bool gives_up(void)
{
    return !atomic_load(&last.works) || atomic_fetch_add(&last.waits, 1) + 1 >= PATIENCES;
}

/* The signal comes again whenever patience is at its end. [signal-safe] */
static bool limit_time(int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct timespec patience = {PATIENCE_NS / 1000000000u, PATIENCE_NS % 1000000000u};
    struct itimerspec again = {.it_value = patience, .it_interval = patience};
    int timer;
    return !syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) &&
           !syscall(SYS_timer_settime, timer, 0, &again, NULL);
}

/* Whether it is done after so long. In the C libraries of Linux this is a wait in the kernel
 * without a lock. [signal-safe] */
static bool wait_for(uint64_t patience_ns)
{
    uint64_t then_ns = dw_clock_ns(CLOCK_MONOTONIC) + patience_ns;
    struct timespec until = {(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
    int failed;
    while ((failed = sem_clockwait(&last.done, CLOCK_MONOTONIC, &until)) && errno == EINTR)
        ;
    return !failed;
}

/* [signal-safe] */
static void wait_for_thread(void)
{
    while (!wait_for(PATIENCE_NS) && !gives_up())
        ;
}

/* A thread without the GIL may be on its way to it or away from it, in the middle of a lock without
 * which nobody else gets it. False when the last words are done by now. [signal-safe] */
static bool goes_on_after_all(int number)
{
    if (wait_for(HOLD_NS))
        return false;
    if (atomic_load(&last.works) || !limit_time(number)) {
        wait_for_thread();
        return false;
    }
    atomic_store(&last.goes_on, true);
    return sem_trywait(&last.done) != 0;
}

/* Whether this process has sent it: the thread that did must not get beyond that. */
static bool is_from_here(const siginfo_t *info)
{
    return info->si_code <= 0 && info->si_code != SI_TIMER && info->si_pid == last.pid;
}

/* Wakes the thread that speaks. Whether the one that got the signal goes on meanwhile.
 * [signal-safe] */
static bool let_speak(int number, const siginfo_t *info)
{
    bool has_gil = last.needs_gil && PyGILState_Check();
    bool may_go_on = last.needs_gil && !is_from_here(info);
    bool goes_on = has_gil && may_go_on && limit_time(number);
    atomic_store(&last.goes_on, goes_on);
    last.leaves_gil = has_gil && !goes_on;
    sem_post(&last.wakes);
    if (goes_on)
        return true;
    if (may_go_on && !has_gil)
        return goes_on_after_all(number);
    wait_for_thread();
    return false;
}

/* Only the first one counts. Whoever sends a second, as timeout(1) does, has to wait like us. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno, none = 0;
    (void)context;
    if (!atomic_load(&last.runs) || last.pid != getpid()) {
        end_by(number);
    } else if (atomic_compare_exchange_strong(&last.number, &none, number)) {
        if (!let_speak(number, info))
            end_by(number);
    } else if (info->si_code == SI_TIMER && gives_up()) {
        end_by(number);
    }
    errno = saved_errno;
}

static void speak(void)
{
    dw_probes_flush(false);
    if (last.needs_gil && !last.leaves_gil) {
        PyGILState_STATE state = PyGILState_Ensure();
        atomic_store(&last.works, true);
        dw_probes_flush(true);
        dw_probes_last();
        /* Not after the GIL is released: that waits for a thread that was about to take it, which
         * may wait for this. */
        sem_post(&last.done);
        if (atomic_load(&last.goes_on)) /* with the GIL: nothing comes after the last words */
            end_by(atomic_load(&last.number));
        PyGILState_Release(state);
    } else {
        sem_post(&last.done);
    }
}

static void *wait_for_end(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, DW_LAST_THREAD);
    atomic_store(&last.is_starting, false);
    atomic_fetch_add(&dw_own_threads, 1);
    while (sem_wait(&last.wakes))
        ;
    if (!last.stops || atomic_load(&last.number))
        speak();
    atomic_fetch_sub(&dw_own_threads, 1);
    return NULL;
}

/* In a turn. The thread takes no signals: they are the program's. */
static int start_thread(void)
{
    sigset_t all, old;
    sem_init(&last.wakes, 0, 0);
    sem_init(&last.done, 0, 0);
    last.pid = getpid();
    last.stops = last.is_paused = false;
    atomic_store(&last.is_starting, true);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = pthread_create(&last.thread, NULL, wait_for_end, NULL);
    if (errno)
        atomic_store(&last.is_starting, false);
    atomic_store(&last.runs, !errno);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return errno ? DW_ERR_IO : 0;
}

/* In a turn. */
static void stop_thread(void)
{
    if (!atomic_exchange(&last.runs, false))
        return;
    last.stops = true;
    sem_post(&last.wakes);
    pthread_join(last.thread, NULL);
}

void dw_last_words_hold(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < ENDINGS; i++)
        sigaddset(&held, endings[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void dw_last_words_let_go(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool dw_last_words_are_starting(void)
{
    return atomic_load(&last.is_starting);
}

bool dw_last_words_are_due(long number)
{
    struct sigaction now;
    return !sigaction((int)number, NULL, &now) && now.sa_sigaction == on_signal;
}

void dw_last_words_watch(long number)
{
    struct sigaction now, ours = {.sa_sigaction = on_signal};
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    for (size_t i = 0; i < ENDINGS && last.is_on && !atomic_load(&last.number); i++)
        if (endings[i] == number && !sigaction(endings[i], NULL, &now) && now.sa_handler == SIG_DFL)
            sigaction(endings[i], &ours, NULL);
}

static void watch_no_more(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < ENDINGS; i++)
        if (dw_last_words_are_due(endings[i]))
            sigaction(endings[i], &usual, NULL);
}

/* A process with one thread stays one while it forks: Python warns about others. */
static void before_fork(void)
{
    pthread_mutex_lock(&last.turn);
    if (atomic_load(&last.runs)) {
        stop_thread();
        last.is_paused = true;
    }
}

static int go_on(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&last.turn);
    if (last.is_on && last.is_paused)
        start_thread();
    pthread_mutex_unlock(&last.turn);
    return 0;
}

/* The thread comes back with the next instructions of Python code, when the fork is over. */
static void after_fork_in_parent(void)
{
    bool is_paused = last.is_paused;
    pthread_mutex_unlock(&last.turn);
    if (is_paused)
        Py_AddPendingCall(go_on, NULL);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&last.turn, NULL);
    atomic_store(&last.runs, false);
    atomic_store(&last.number, 0); /* it was the parent's end */
}

static void watch_on(void)
{
    go_on(NULL);
}

/* Not a probe, but with a thread that has to make way for forks, before any other. */
static struct dw_probe part_in_forks = {
    .name = "last words",
    .before = before_fork,
    .after = after_fork_in_parent,
    .forked = after_fork_in_child,
    .go_on = watch_on,
};

int dw_last_words_start(bool needs_gil)
{
    int error = start_thread();
    if (error)
        return error;
    last.needs_gil = needs_gil;
    last.is_on = true;
    dw_probe_add(&part_in_forks);
    for (size_t i = 0; i < ENDINGS; i++)
        dw_last_words_watch(endings[i]);
    return 0;
}

/* Whoever holds the GIL gives it up for this: the thread may want it. */
void dw_last_words_stop(void)
{
    watch_no_more();
    pthread_mutex_lock(&last.turn);
    last.is_on = false;
    stop_thread();
    pthread_mutex_unlock(&last.turn);
}
