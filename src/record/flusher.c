/* SPDX-License-Identifier: MIT
 * The thread that works beside the program: it brings regions to the log, twice a second so that a
 * kill costs less than one, and reads gauges. It never needs the GIL. */
#include "record/gauges.h"
#include "record/state.h"

#include <signal.h>
#include <sys/prctl.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of those who start and stop it */
static unsigned users;
static pthread_t flusher;
static bool runs;
static atomic_bool is_starting;
static bool paused; /* until the next entry */
static bool stops;
static pthread_mutex_t flusher_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes;

void dw_recorder_kick(void)
{
    pthread_cond_signal(&wakes);
}

/* Until then, or until it is kicked: then the regions are due. */
static void wait_until(uint64_t then_ns, uint64_t *flush_due_ns)
{
    struct timespec until = {(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
    if (!pthread_cond_timedwait(&wakes, &flusher_lock, &until))
        *flush_due_ns = 0;
}

/* What is due: regions, when these are flushed here, and gauges, when these are read. */
static void work(uint64_t *flush_due_ns, uint64_t *gauges_due_ns)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= *gauges_due_ns)
        *gauges_due_ns = dw_gauges_work(now_ns);
    if (now_ns < *flush_due_ns)
        return;
    if (users & DW_FLUSHES_REGIONS)
        dw_recorder_flush();
    *flush_due_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
}

static void *flush_forever(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, DW_FLUSHER_THREAD);
    atomic_store(&is_starting, false);
    atomic_fetch_add(&dw_own_threads, 1);
    uint64_t flush_due_ns = dw_clock_ns(CLOCK_MONOTONIC) + DW_FLUSH_NS;
    uint64_t gauges_due_ns = users & DW_FLUSHES_GAUGES ? 0 : UINT64_MAX;
    pthread_mutex_lock(&flusher_lock);
    while (!stops) {
        pthread_mutex_unlock(&flusher_lock);
        work(&flush_due_ns, &gauges_due_ns);
        pthread_mutex_lock(&flusher_lock);
        if (!stops)
            wait_until(flush_due_ns < gauges_due_ns ? flush_due_ns : gauges_due_ns, &flush_due_ns);
    }
    pthread_mutex_unlock(&flusher_lock);
    atomic_fetch_sub(&dw_own_threads, 1);
    return NULL;
}

/* In a turn. The flusher takes no signals: they are the program's. */
static void start_thread(void)
{
    pthread_condattr_t monotonic;
    paused = false;
    if (runs || !users)
        return;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    stops = false;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_store(&is_starting, true);
    runs = pthread_create(&flusher, NULL, flush_forever, NULL) == 0;
    if (!runs)
        atomic_store(&is_starting, false);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* In a turn. */
static void stop_thread(void)
{
    if (!runs)
        return;
    pthread_mutex_lock(&flusher_lock);
    stops = true;
    pthread_cond_signal(&wakes);
    pthread_mutex_unlock(&flusher_lock);
    pthread_join(flusher, NULL);
    runs = false;
}

bool dw_flusher_is_starting(void)
{
    return atomic_load(&is_starting);
}

/* What the thread does is fixed while it runs. */
static void change_users(unsigned wanted)
{
    if (users != wanted)
        stop_thread();
    users = wanted;
    start_thread();
}

void dw_flusher_start(unsigned user)
{
    pthread_mutex_lock(&turn);
    change_users(users | user);
    pthread_mutex_unlock(&turn);
}

void dw_flusher_start_later(unsigned user)
{
    pthread_mutex_lock(&turn);
    if (runs)
        change_users(users | user);
    users |= user;
    paused = paused || !runs;
    pthread_mutex_unlock(&turn);
    dw_recorder_generation++;
}

void dw_flusher_stop(unsigned user)
{
    pthread_mutex_lock(&turn);
    change_users(users & ~user);
    pthread_mutex_unlock(&turn);
}

void dw_flusher_pause(void)
{
    pthread_mutex_lock(&turn);
    bool was_running = runs;
    stop_thread();
    paused = paused || was_running;
    pthread_mutex_unlock(&turn);
    if (was_running)
        dw_recorder_flush();
}

void dw_flusher_unpause(void)
{
    pthread_mutex_lock(&turn);
    if (paused)
        start_thread();
    pthread_mutex_unlock(&turn);
}

void dw_flusher_forked(void)
{
    users = 0;
    runs = paused = false;
    atomic_store(&is_starting, false);
    pthread_mutex_init(&flusher_lock, NULL); /* its holder may not exist here */
    pthread_mutex_init(&turn, NULL);
}
