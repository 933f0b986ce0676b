/* SPDX-License-Identifier: MIT
 * The thread that brings regions to the log, twice a second so that a kill costs less than one. It
 * never needs the GIL. */
#define _GNU_SOURCE
#include "record/state.h"

#include <signal.h>
#include <sys/prctl.h>

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

static void *flush_forever(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, DW_FLUSHER_THREAD);
    atomic_store(&is_starting, false);
    pthread_mutex_lock(&flusher_lock);
    while (!stops) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t then = dw_timespec_ns(&until) + DW_FLUSH_NS;
        until = (struct timespec){(time_t)(then / 1000000000u), (long)(then % 1000000000u)};
        pthread_cond_timedwait(&wakes, &flusher_lock, &until);
        if (stops)
            break;
        pthread_mutex_unlock(&flusher_lock);
        dw_recorder_flush();
        pthread_mutex_lock(&flusher_lock);
    }
    pthread_mutex_unlock(&flusher_lock);
    return NULL;
}

/* The flusher takes no signals: they are the program's. */
void dw_flusher_start(void)
{
    pthread_condattr_t monotonic;
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

bool dw_flusher_is_starting(void)
{
    return atomic_load(&is_starting);
}

void dw_flusher_start_later(void)
{
    paused = true;
    dw_recorder_generation++;
}

void dw_flusher_stop(void)
{
    static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&stop_lock); /* a stop and a fork may want it at once */
    paused = false;
    if (runs) {
        pthread_mutex_lock(&flusher_lock);
        stops = true;
        pthread_cond_signal(&wakes);
        pthread_mutex_unlock(&flusher_lock);
        pthread_join(flusher, NULL);
        runs = false;
    }
    pthread_mutex_unlock(&stop_lock);
}

void dw_flusher_pause(void)
{
    if (!runs)
        return;
    dw_flusher_stop();
    dw_recorder_flush();
    paused = true;
}

void dw_flusher_unpause(void)
{
    pthread_mutex_lock(&dw_recorder.lock);
    if (paused)
        dw_flusher_start();
    paused = false;
    pthread_mutex_unlock(&dw_recorder.lock);
}

void dw_flusher_forked(void)
{
    runs = paused = false;
    atomic_store(&is_starting, false);
    pthread_mutex_init(&flusher_lock, NULL); /* its holder may not exist here */
}
