/* SPDX-License-Identifier: MIT
 * A reading is a few system calls on descriptors that stay open. Readings wait in memory for the
 * next flush; those in which memory grows fast do not, since the next thing may be the end. */
#include "record/gauges.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/kept_file.h"
#include "record/ledger.h"
#include "record/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_NS (2 * (uint64_t)DW_FLUSH_NS)
#define GROWTH_PART 8   /* growth by this part since the last flush is written at once */
#define PSS_SHARE 50    /* reading it takes at most this part of the time */
#define SHORT_TEXT 4096 /* of a file in /proc */

enum { RSS, PEAK, CPU, THREADS, PSS, GAUGES };
static struct dw_gauge kinds[GAUGES] = {
    [RSS] = {DW_SERIES_RSS, DW_UNIT_BYTES, false, 4096},
    [PEAK] = {DW_SERIES_PEAK, DW_UNIT_BYTES, false, 1024},
    [CPU] = {DW_SERIES_CPU, DW_UNIT_NS, true, 100000},
    [THREADS] = {DW_SERIES_THREADS, DW_UNIT_COUNT, false, 1},
    [PSS] = {DW_SERIES_PSS, DW_UNIT_BYTES, false, 1024},
};

static struct {
    pthread_mutex_t lock;
    bool is_on;
    bool is_short;  /* a child that is too young for a file of its own */
    bool is_paused; /* by a fork */
    struct dw_gauges_options options;
    struct dw_ledger *log;
    struct dw_kept_file statm, task, rollup;
    size_t count;                        /* of the gauges that are read */
    int64_t now[GAUGES], before[GAUGES]; /* in quanta */
    struct dw_buffer readings;           /* since the last flush */
    uint64_t base_ns, last_us;           /* of these */
    uint64_t due_ns, flushed_ns, pss_due_ns;
    int64_t flushed_rss;
} gauges = {.lock = PTHREAD_MUTEX_INITIALIZER, .statm.fd = -1, .task.fd = -1, .rollup.fd = -1};

bool dw_gauges_are_on(void)
{
    return gauges.is_on;
}

/* Pages in memory are the second number. */
static void read_rss(void)
{
    char text[SHORT_TEXT], *end;
    if (!dw_kept_read(&gauges.statm, text, sizeof text))
        return;
    (void)strtoll(text, &end, 10);
    gauges.now[RSS] = strtoll(end, NULL, 10);
}

/* As folders, threads are links of the folder of threads, which has two more. */
static void read_threads(void)
{
    struct stat file;
    uint32_t own = atomic_load(&dw_own_threads);
    if (dw_kept_look(&gauges.task, &file) && file.st_nlink > own + 2)
        gauges.now[THREADS] = (int64_t)file.st_nlink - 2 - own;
}

static void read_pss(uint64_t now_ns)
{
    char text[SHORT_TEXT];
    if (now_ns < gauges.pss_due_ns || !dw_kept_read(&gauges.rollup, text, sizeof text))
        return;
    const char *line = strstr(text, "\nPss:");
    if (line)
        gauges.now[PSS] = strtoll(line + 5, NULL, 10);
    uint64_t took_ns = dw_clock_ns(CLOCK_MONOTONIC) - now_ns;
    gauges.pss_due_ns = now_ns + PSS_SHARE * took_ns;
}

static uint64_t timeval_us(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

/* The kernel notes the peak now and then only: RSS itself may be larger. */
static void read_usage(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage))
        return;
    uint64_t cpu_us = timeval_us(&usage.ru_utime) + timeval_us(&usage.ru_stime);
    int64_t rss = gauges.now[RSS] * (int64_t)(kinds[RSS].quantum / kinds[PEAK].quantum);
    gauges.now[CPU] = (int64_t)(cpu_us * 1000 / kinds[CPU].quantum);
    if (gauges.now[PEAK] < rss)
        gauges.now[PEAK] = rss;
    if (gauges.now[PEAK] < usage.ru_maxrss)
        gauges.now[PEAK] = usage.ru_maxrss;
}

/* With the lock. */
static void read_all(void)
{
    int64_t deltas[GAUGES];
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    read_rss();
    read_usage();
    read_threads();
    if (gauges.options.pss)
        read_pss(now_ns);
    if (!gauges.readings.size) {
        gauges.base_ns = now_ns;
        gauges.last_us = 0;
        memset(gauges.before, 0, sizeof gauges.before);
    }
    uint64_t now_us = (now_ns - gauges.base_ns) / 1000;
    for (size_t i = 0; i < gauges.count; i++)
        deltas[i] = gauges.now[i] - gauges.before[i];
    dw_reading_put(&gauges.readings, now_us - gauges.last_us, deltas, gauges.count);
    memcpy(gauges.before, gauges.now, sizeof gauges.before);
    gauges.last_us = now_us;
}

static int collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    (void)context;
    dw_ledger_define(ledger, sink);
    if (gauges.readings.size)
        dw_log_write_series(&sink->writer, 0, 0, kinds, gauges.count, gauges.base_ns,
                            &gauges.readings);
    dw_buffer_restart(&gauges.readings);
    return 0;
}

/* With the lock. */
static int flush(bool ends)
{
    gauges.flushed_ns = dw_clock_ns(CLOCK_MONOTONIC);
    gauges.flushed_rss = gauges.now[RSS];
    return ends ? dw_ledger_flush_end(gauges.log, collect, NULL)
                : dw_ledger_flush(gauges.log, collect, NULL, false);
}

static bool is_flush_due(uint64_t now_ns)
{
    return now_ns - gauges.flushed_ns >= FLUSH_NS ||
           gauges.now[RSS] - gauges.flushed_rss > gauges.flushed_rss / GROWTH_PART;
}

uint64_t dw_gauges_work(uint64_t now_ns)
{
    uint64_t due_ns = UINT64_MAX;
    if (pthread_mutex_trylock(&gauges.lock)) /* a fork has it, and may wait for this thread */
        return now_ns + DW_GAUGES_INTERVAL_NS;
    if (gauges.is_on && now_ns >= gauges.due_ns) {
        gauges.is_short = false;
        read_all();
        if (is_flush_due(now_ns) && flush(false))
            gauges.is_on = false; /* the file was given up, and that was said */
        gauges.due_ns += gauges.options.interval_ns;
        if (gauges.due_ns <= now_ns) /* the machine slept: do not catch up */
            gauges.due_ns = now_ns + gauges.options.interval_ns;
    }
    if (gauges.is_on)
        due_ns = gauges.due_ns;
    pthread_mutex_unlock(&gauges.lock);
    return due_ns;
}

/* With the lock. The descriptors are those of one process. */
static void begin(void)
{
    dw_kept_open(&gauges.statm, "/proc/self/statm");
    dw_kept_open(&gauges.task, "/proc/self/task");
    if (gauges.options.pss)
        dw_kept_open(&gauges.rollup, "/proc/self/smaps_rollup");
    gauges.is_on = true;
    gauges.pss_due_ns = 0;
    gauges.now[PEAK] = 0;
    dw_buffer_restart(&gauges.readings);
    read_all();
    gauges.flushed_rss = gauges.now[RSS];
    gauges.flushed_ns = dw_clock_ns(CLOCK_MONOTONIC);
    gauges.due_ns = gauges.flushed_ns + gauges.options.interval_ns;
}

static void close_all(void)
{
    dw_kept_close(&gauges.statm);
    dw_kept_close(&gauges.task);
    dw_kept_close(&gauges.rollup);
}

static void forget_log(void)
{
    dw_ledger_release(gauges.log);
    gauges.log = NULL;
}

int dw_gauges_start(const struct dw_gauges_options *options)
{
    dw_probe_add(&dw_gauges_probe);
    pthread_mutex_lock(&gauges.lock);
    int error = gauges.log ? DW_ERR_ARGUMENT
                           : dw_ledger_open(&(struct dw_ledger_options){.path = options->log_file},
                                            &gauges.log);
    if (!error) {
        gauges.options = *options;
        gauges.options.log_file = NULL; /* it is theirs */
        gauges.count = options->pss ? GAUGES : PSS;
        gauges.is_short = false;
        kinds[RSS].quantum = (uint64_t)sysconf(_SC_PAGESIZE);
        begin();
        error = flush(false); /* so that the file can be read from the start on */
        if (error) {
            gauges.is_on = false;
            dw_ledger_stop(gauges.log);
            forget_log();
            close_all();
        }
    }
    pthread_mutex_unlock(&gauges.lock);
    if (!error)
        dw_flusher_start(DW_FLUSHES_GAUGES);
    return error;
}

int dw_gauges_stop(struct dw_buffer *memory)
{
    int error = 0;
    dw_flusher_stop(DW_FLUSHES_GAUGES);
    pthread_mutex_lock(&gauges.lock);
    if (gauges.is_on && !gauges.is_short) {
        read_all();
        flush(false);
    }
    if (gauges.log) {
        error = dw_ledger_stop(gauges.log);
        if (memory && !gauges.log->path)
            dw_buffer_append(memory, gauges.log->sink.writer.memory.data,
                             gauges.log->sink.writer.memory.size);
        int saved_errno = errno;
        forget_log();
        close_all();
        errno = saved_errno;
    }
    gauges.is_on = false;
    pthread_mutex_unlock(&gauges.lock);
    return error;
}

static void stop_for_good(void)
{
    dw_gauges_stop(NULL);
}

static void flush_last(void)
{
    pthread_mutex_lock(&gauges.lock);
    if (gauges.is_on && !gauges.is_short) {
        read_all();
        flush(true);
    }
    pthread_mutex_unlock(&gauges.lock);
}

/* A process with one thread stays one while it forks. */
static void before_fork(void)
{
    dw_flusher_pause();
    pthread_mutex_lock(&gauges.lock);
}

static int resume(void *unused)
{
    (void)unused;
    dw_flusher_unpause();
    return 0;
}

/* The flusher comes back with the next instructions of the program, when the fork is over. */
static void after_fork(void)
{
    bool is_on = gauges.is_on;
    pthread_mutex_unlock(&gauges.lock);
    if (is_on && dw_call_soon)
        dw_call_soon(resume, NULL);
}

/* Descriptors of the parent tell of the parent. */
static void forked(void)
{
    pthread_mutex_init(&gauges.lock, NULL);
    dw_flusher_forked();
    close_all();
    dw_buffer_restart(&gauges.readings);
    gauges.is_on = false;
}

/* In a forked child, in a file of its own, which it gets when it has lived for an interval. */
static void go_on(void)
{
    pthread_mutex_lock(&gauges.lock);
    bool goes_on = !gauges.is_on && gauges.log && gauges.log->path;
    if (goes_on) {
        gauges.is_short = true;
        begin();
    }
    pthread_mutex_unlock(&gauges.lock);
    if (goes_on)
        dw_flusher_start(DW_FLUSHES_GAUGES);
}

struct dw_probe dw_gauges_probe = {
    .name = "gauges",
    .flush = flush_last,
    .stop = stop_for_good,
    .before = before_fork,
    .after = after_fork,
    .forked = forked,
    .go_on = go_on,
};
