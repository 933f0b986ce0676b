/* SPDX-License-Identifier: MIT
 * The log of this process and the thread that brings it up to date, twice a second
 * so that a kill costs less than one. It never needs the GIL. */
#define _GNU_SOURCE
#include "base/error.h"
#include "record/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FLUSH_PERIOD_NS 500000000u

static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_drain log_drain;
static int log_fd = -1;
static char log_file[PATH_MAX];
static size_t stem_size; /* of its name: children put their pid behind it */

static pthread_t flusher;
static bool runs;
static atomic_bool is_starting;
static bool paused; /* until the next entry */
static bool stops;
static pthread_mutex_t flusher_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes;

bool dw_flusher_has_log(void)
{
    return log_fd >= 0;
}

bool dw_flusher_try_lock(void)
{
    return !pthread_mutex_trylock(&drain_lock);
}

void dw_flusher_lock(void)
{
    pthread_mutex_lock(&drain_lock);
}

void dw_flusher_unlock(void)
{
    pthread_mutex_unlock(&drain_lock);
}

/* Tells the trouble once and goes on without the file. */
static void give_up_log(void)
{
    dprintf(STDERR_FILENO, "dwell: %s: %s; recording goes on without the file\n", log_file,
            dw_error_text(dw_log_writer_error(&log_drain.writer)));
    dw_log_writer_close(&log_drain.writer);
    dw_drain_release(&log_drain);
    log_fd = -1;
    dw_recorder_widen(&(struct dw_record_options){0}); /* no file, no timeline */
}

static bool has_something_to_say(void)
{
    pthread_mutex_lock(&dw_recorder.tables.lock);
    bool is_marked = dw_recorder.tables.paths.count > 1; /* not only the root */
    pthread_mutex_unlock(&dw_recorder.tables.lock);
    return is_marked || !dw_recorder.options.beside;
}

static void flush(bool with_end)
{
    pthread_mutex_lock(&drain_lock);
    if (log_fd >= 0 && !dw_recorder.is_fork && has_something_to_say()) {
        log_drain.is_last = with_end;
        dw_drain_run(&log_drain, &dw_recorder.tables);
        if (with_end)
            dw_log_write_end(&log_drain.writer, 0, atomic_load(&dw_recorder.dropped),
                             atomic_load(&dw_recorder.is_reported));
        if (log_drain.writer.error)
            give_up_log();
    }
    pthread_mutex_unlock(&drain_lock);
}

void dw_recorder_flush(void)
{
    flush(false);
}

void dw_recorder_flush_last(void)
{
    flush(true);
}

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
        uint64_t then = dw_timespec_ns(&until) + FLUSH_PERIOD_NS;
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

static int open_log(void)
{
    log_drain = (struct dw_drain){0};
    int error = dw_log_writer_create(&log_drain.writer, log_file);
    if (error) {
        int saved_errno = errno;
        dw_log_writer_close(&log_drain.writer);
        dw_drain_release(&log_drain);
        errno = saved_errno;
        return error;
    }
    dw_log_writer_agree(&log_drain.writer, dw_recorder.tables.process.uuid);
    log_fd = log_drain.writer.fd;
    return 0;
}

/* The program may change its directory before the log is opened again. */
static int set_log_file(const char *path)
{
    char directory[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(directory, sizeof directory))
        return DW_ERR_IO;
    int size =
        snprintf(log_file, sizeof log_file, "%s%s%s", directory, *directory ? "/" : "", path);
    if (size >= (int)sizeof log_file) {
        errno = ENAMETOOLONG;
        return DW_ERR_IO;
    }
    stem_size = dw_log_stem_size(log_file);
    return 0;
}

int dw_flusher_open(const char *path)
{
    log_file[0] = 0;
    if (!path)
        return 0;
    int error = set_log_file(path);
    return error ? error : open_log();
}

void dw_flusher_disown(void)
{
    runs = paused = false;
    atomic_store(&is_starting, false);
    pthread_mutex_init(&flusher_lock, NULL); /* its holder may not exist here */
    if (log_fd >= 0)
        dw_log_writer_close(&log_drain.writer);
    log_fd = -1;
}

/* When that fails the child goes unrecorded. */
void dw_flusher_open_child(void)
{
    if (log_file[0] && (dw_log_name_child(log_file, sizeof log_file, stem_size) || open_log()))
        log_file[0] = 0;
}

int dw_flusher_close(void)
{
    int error = 0;
    pthread_mutex_lock(&drain_lock); /* another thread may be flushing on its way out */
    if (log_fd >= 0) {
        error = dw_log_writer_close(&log_drain.writer);
        dw_drain_release(&log_drain);
    }
    log_fd = -1;
    pthread_mutex_unlock(&drain_lock);
    return error;
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
    pthread_mutex_lock(&dw_recorder.tables.lock);
    if (paused)
        dw_flusher_start();
    paused = false;
    pthread_mutex_unlock(&dw_recorder.tables.lock);
}

const char *dw_recorder_log_file(void)
{
    return log_file;
}

int dw_recorder_snapshot(struct dw_log_writer *writer)
{
    struct dw_drain drain = {.is_snapshot = true};
    if (dw_recorder.is_fork)
        dw_track_get_slow();
    pthread_mutex_lock(&drain_lock);
    int error = dw_log_writer_init(&drain.writer, -1);
    if (!error) {
        dw_drain_run(&drain, &dw_recorder.tables);
        dw_log_write_end(&drain.writer, 0, atomic_load(&dw_recorder.dropped), false);
        error = drain.writer.error;
    }
    pthread_mutex_unlock(&drain_lock);
    *writer = drain.writer;
    return error;
}
