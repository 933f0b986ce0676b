/* SPDX-License-Identifier: MIT
 * Who starts, stops and forks takes a turn, one after the other. The thread `dwell-memory` brings
 * what is new to the log; it never needs the GIL, and what it allocates itself is not recorded. */
#define _GNU_SOURCE
#include "probe/memory/memory_probe.h"

#include "base/clock.h"
#include "base/error.h"
#include "probe/memory/alloc_events.h"
#include "probe/memory/alloc_frames.h"
#include "probe/memory/block_samples.h"
#include "probe/memory/block_shadow.h"
#include "probe/memory/malloc_hooks.h"
#include "probe/memory/mappings.h"
#include "probe/memory/memory_makers.h"
#include "probe/memory/memory_recording.h"
#include "probe/memory/own_blocks.h"
#include "probe/memory/python_hooks.h"
#include "probe/memory/resident_parts.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define THREAD_NAME "dwell-memory"
#define FIRST_FLUSH_NS 50000000u
#define LOOK_NS 20000000u      /* for objects of code that were loaded */
#define MANY_WALKS 1000u       /* between two looks */
#define PROCESS_NS 5000000000u /* from one look at the memory of the process to the next */

static struct {
    pthread_mutex_t turn;
    pthread_mutex_t work; /* on the recording: the thread's, and who flushes */
    bool is_on;
    bool runs; /* the thread */
    bool is_paused;
    _Atomic bool stops;
    pthread_t thread;
    sem_t wakes;
    uint64_t looked_ns; /* at the memory of the process */
    struct dw_memory_recording recording;
} memory = {.turn = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_MUTEX_INITIALIZER};

bool dw_memory_is_on(void)
{
    return memory.is_on;
}

static int flush(bool is_last)
{
    struct dw_ledger *log = memory.recording.log;
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.work);
    if (is_last || now_ns - memory.looked_ns >= PROCESS_NS) {
        memory.looked_ns = now_ns;
        memory.recording.looks = true;
    }
    int error = dw_ledger_flush(log, dw_memory_collect, &memory.recording, is_last);
    pthread_mutex_unlock(&memory.work);
    dw_alloc_here.busy--;
    return error;
}

bool dw_memory_makers_begin(void)
{
    if (!memory.is_on || flush(false))
        return false;
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.work);
    return true;
}

void dw_memory_makers_end(void)
{
    pthread_mutex_unlock(&memory.work);
    dw_alloc_here.busy--;
}

static uint32_t sampled_site(uintptr_t block)
{
    struct dw_block sample;
    if (!dw_block_may_be(block) || !dw_alloc_lock_or_leave())
        return 0;
    bool is_known = dw_block_take(block, &sample);
    if (is_known)
        dw_block_put(block, &sample);
    dw_alloc_unlock();
    return is_known ? sample.site : 0;
}

uint32_t dw_memory_maker_of(uintptr_t block)
{
    return memory.recording.is_exact ? dw_shadow_site(block) : sampled_site(block);
}

static dw_path_id path_of(uint32_t site)
{
    const struct dw_memory_recording *recording = &memory.recording;
    if (!dw_alloc_lock_or_leave())
        return DW_PATH_ROOT;
    uint32_t step = site < dw_allocs.site_count ? dw_allocs.records[site].key.step : 0;
    dw_alloc_unlock();
    return step < recording->path_count ? recording->paths[step] : DW_PATH_ROOT;
}

bool dw_memory_maker_at(uint32_t number, struct dw_memory_maker *maker)
{
    struct dw_ledger *log = memory.recording.log;
    for (dw_path_id path = path_of(number); path != DW_PATH_ROOT;) {
        struct dw_path at = dw_ledger_path_at(log, path);
        struct dw_place place = dw_ledger_place_at(log, at.step);
        struct dw_frame frame = dw_ledger_frame_at(log, place.frame);
        if (frame.kind == DW_FRAME_FUNCTION) {
            pthread_mutex_lock(&log->tables);
            *maker = (struct dw_memory_maker){log->strings.strings[frame.name],
                                              log->strings.strings[frame.file], place.line};
            pthread_mutex_unlock(&log->tables);
            return true;
        }
        path = at.parent;
    }
    return false;
}

static bool wait_ns(uint64_t ns)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + ns;
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    while (!memory.stops && sem_clockwait(&memory.wakes, CLOCK_MONOTONIC, &until) && errno == EINTR)
        ;
    return !memory.stops;
}

/* What makes frame objects is not the program's work. */
static int fence_frames(void *unused)
{
    (void)unused;
    dw_alloc_here.busy++;
    dw_py_fence_frames();
    dw_alloc_here.busy--;
    return 0;
}

/* Stacks are compared down to a fence. The thread that runs Python code next makes fences
 * where they are missed. */
static void look_for_fences(void)
{
    static uint32_t seen;
    uint32_t walks = atomic_load(&dw_alloc_walks);
    if (walks - seen > MANY_WALKS)
        Py_AddPendingCall(fence_frames, NULL);
    seen = walks;
}

static void look_for_modules(void)
{
    pthread_mutex_lock(&memory.work);
    dw_memory_recording_look(&memory.recording);
    pthread_mutex_unlock(&memory.work);
}

static void *run(void *unused)
{
    (void)unused;
    uint64_t flush_ns = dw_clock_ns(CLOCK_MONOTONIC) + FIRST_FLUSH_NS;
    dw_alloc_here.busy++;
    prctl(PR_SET_NAME, THREAD_NAME);
    atomic_fetch_add(&dw_own_threads, 1);
    while (wait_ns(LOOK_NS)) {
        uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
        atomic_store_explicit(&dw_allocs.now_ns, now_ns, memory_order_relaxed);
        dw_malloc_hooks_renew();
        look_for_modules();
        look_for_fences();
        if (now_ns < flush_ns)
            continue;
        flush(false);
        uint64_t took_ns = memory.recording.took_ns;
        flush_ns = now_ns + (20 * took_ns > DW_FLUSH_NS ? 20 * took_ns : DW_FLUSH_NS);
    }
    atomic_fetch_sub(&dw_own_threads, 1);
    return NULL;
}

/* The thread takes no signals: they are the program's. */
static int start_thread(void)
{
    sigset_t all, old;
    memory.stops = memory.is_paused = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = pthread_create(&memory.thread, NULL, run, NULL);
    memory.runs = !errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (memory.runs)
        pthread_setname_np(memory.thread, THREAD_NAME);
    return memory.runs ? 0 : DW_ERR_IO;
}

static void stop_thread(void)
{
    if (!memory.runs)
        return;
    memory.stops = true;
    memory.runs = false;
    sem_post(&memory.wakes);
    pthread_join(memory.thread, NULL);
}

/* Nothing is known of any block. */
static int empty_allocs(void)
{
    dw_alloc_lock();
    dw_blocks_release();
    dw_mappings_release();
    int error = dw_alloc_init();
    atomic_store(&dw_allocs.now_ns, dw_clock_ns(CLOCK_MONOTONIC));
    dw_resident_begin();
    dw_alloc_unlock();
    dw_shadow_clear();
    return error;
}

static void end_allocs(void)
{
    dw_alloc_lock();
    dw_blocks_release();
    dw_mappings_release();
    dw_alloc_end();
    dw_alloc_unlock();
    dw_shadow_clear();
}

static int begin(void)
{
    int error = empty_allocs();
    if (!error)
        error = dw_alloc_threads_begin();
    if (!error)
        error = dw_memory_recording_init(&memory.recording);
    if (!error) {
        dw_python_hooks_install(memory.recording.is_exact);
        dw_malloc_hooks_install();
        error = start_thread(); /* which renews what was installed */
    }
    if (error) {
        dw_malloc_hooks_remove();
        dw_memory_recording_release(&memory.recording);
        return error;
    }
    memory.is_on = true;
    dw_alloc_mode = memory.recording.is_exact ? DW_ALLOC_EXACT : DW_ALLOC_SAMPLED;
    return 0;
}

static void forget_ledger(void)
{
    if (memory.recording.log)
        dw_ledger_stop(memory.recording.log);
    dw_ledger_release(memory.recording.log);
    memory.recording.log = NULL;
}

static int start(const struct dw_memory_options *options)
{
    dw_own_blocks_watch();
    forget_ledger();
    memory.recording.is_exact = options->is_exact;
    dw_alloc_only_thread = options->is_of_caller ? gettid() : 0;
    int error = dw_ledger_open(&(struct dw_ledger_options){.path = options->log_file},
                               &memory.recording.log);
    if (error)
        return error;
    error = begin();
    if (error)
        forget_ledger();
    return error;
}

int dw_memory_start(const struct dw_memory_options *options)
{
    dw_alloc_here.busy++;
    if (!dw_memory_probe.bit)
        sem_init(&memory.wakes, 0, 0);
    dw_probe_add(&dw_memory_probe);
    pthread_mutex_lock(&memory.turn);
    int error = memory.is_on ? DW_ERR_ARGUMENT : start(options);
    pthread_mutex_unlock(&memory.turn);
    dw_alloc_here.busy--;
    return error;
}

static int stop(struct dw_buffer *bytes)
{
    struct dw_ledger *log = memory.recording.log;
    dw_alloc_mode = DW_ALLOC_OFF;
    dw_malloc_hooks_remove();
    stop_thread();
    flush(true);
    int error = dw_ledger_stop(log);
    if (bytes && !log->path)
        dw_buffer_append(bytes, log->sink.writer.memory.data, log->sink.writer.memory.size);
    dw_memory_recording_release(&memory.recording);
    dw_ledger_release(log);
    memory.recording.log = NULL;
    end_allocs();
    memory.is_on = false;
    return error;
}

int dw_memory_stop(struct dw_buffer *bytes)
{
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.turn);
    int error = memory.is_on ? stop(bytes) : 0;
    pthread_mutex_unlock(&memory.turn);
    dw_alloc_here.busy--;
    return error;
}

static void stop_for_good(void)
{
    dw_memory_stop(NULL);
}

/* All of it, as if nothing came after it. */
static void flush_last(void)
{
    if (!memory.is_on)
        return;
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.work);
    memory.recording.looks = true;
    dw_ledger_flush_end(memory.recording.log, dw_memory_collect, &memory.recording);
    pthread_mutex_unlock(&memory.work);
    dw_alloc_here.busy--;
}

static void before_fork(void)
{
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.turn);
    memory.is_paused = memory.runs;
    stop_thread();
    pthread_mutex_lock(&memory.work);
}

static void lock_allocs(void)
{
    dw_alloc_lock_for_all();
}

static void unlock_allocs(void)
{
    dw_alloc_unlock();
}

static int go_on(void *unused)
{
    (void)unused;
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.turn);
    if (memory.is_on && memory.is_paused)
        start_thread();
    pthread_mutex_unlock(&memory.turn);
    dw_alloc_here.busy--;
    return 0;
}

/* The thread comes back with the next instructions of Python code, when the fork is over. */
static void after_fork_in_parent(void)
{
    bool is_paused = memory.is_paused;
    pthread_mutex_unlock(&memory.work);
    pthread_mutex_unlock(&memory.turn);
    dw_alloc_here.busy--;
    if (is_paused)
        Py_AddPendingCall(go_on, NULL);
}

/* What is in memory is the parent's, and its blocks are unknown from now on. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&memory.turn, NULL);
    pthread_mutex_init(&memory.work, NULL);
    sem_init(&memory.wakes, 0, 0);
    memory.runs = memory.is_paused = false;
    if (memory.is_on) {
        dw_alloc_mode = DW_ALLOC_OFF;
        memory.is_on = false;
        dw_memory_recording_release(&memory.recording);
        end_allocs();
        if (!memory.recording.log->path)
            forget_ledger();
    }
    dw_alloc_here.busy--;
}

/* In a forked child, in a file of its own. */
static void continue_in_child(void)
{
    dw_alloc_here.busy++;
    pthread_mutex_lock(&memory.turn);
    if (!memory.is_on && memory.recording.log)
        begin();
    pthread_mutex_unlock(&memory.turn);
    dw_alloc_here.busy--;
}

struct dw_probe dw_memory_probe = {
    .name = "memory",
    .flush = flush_last,
    .stop = stop_for_good,
    .before = before_fork,
    .lock_last = lock_allocs,
    .unlock_first = unlock_allocs,
    .after = after_fork_in_parent,
    .forked = after_fork_in_child,
    .go_on = continue_in_child,
};
