/* SPDX-License-Identifier: MIT
 * One step of work does what is due: find threads, empty rings, look at sleepers, flush. The caller
 * holds the sampler's lock, so nothing in here needs one. */
#define _GNU_SOURCE
#include "probe/sample/sample_recording.h"

#include "base/clock.h"
#include "base/error.h"
#include "probe/sample/probe_sampler.h"
#include "probe/sample/sample_births.h"
#include "probe/sample/sample_code.h"
#include "probe/sample/sample_handler.h"
#include "probe/sample/sample_names.h"
#include "probe/sample/sample_sleep.h"
#include "probe/sample/sample_timer.h"
#include "probe/sample/stack_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS 20000000u       /* threads, modules and rings are looked at so often, */
#define BUSY_LOOK_NS 10000000u  /* and so often when more samples come than */
#define BUSY_PERIOD_NS 1000000u /* one in this time */
#define CALM_AFTER_NS                                                                              \
    50000000u                     /* without a thread that turned from waiting to running, or back \
                                   */
#define CALM_LOOK_NS 3000000u     /* at threads that wait, then */
#define FIRST_FLUSH_NS 50000000u  /* a kill that comes early costs no more than this, or */
#define FLUSH_PART 8              /* this part of the recording: pools kill their workers */
#define QUICK_LOOK_NS 1000000u    /* for threads, while such come that do not say so */
#define QUICK_LOOKS_NS 200000000u /* for so long after the last one */
#define UNSEEN_NS 5000000u        /* less may be a difference between clocks */
#define PATIENCE_NS 5000000u      /* of CPU time without a sample */

/* Says once which thread is not seen as well as others, and why. */
static void tell_tight_stack(struct dw_sample_recording *recording, const struct dw_slot *slot)
{
    uint64_t size = atomic_load(&slot->tight_stack);
    if (size && !recording->has_told_tight)
        dprintf(STDERR_FILENO,
                "dwell: thread %d has a stack for signals of %" PRIu64 " bytes, too small for one "
                "more signal; it is sampled from outside, which sees less\n",
                (int)slot->tid, size);
    recording->has_told_tight |= size != 0;
}

/* Nothing more comes from the thread. */
static void complete_thread(struct dw_sample_recording *recording, struct dw_slot *slot)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    tell_tight_stack(recording, slot);
    dw_sample_drain(&recording->places, slot);
    dw_sleep_pay_kernel(&recording->reader, slot, now_ns, true);
    dw_sample_drain_rest(&recording->places, slot, now_ns);
    dw_sleep_finish(&recording->reader, slot, now_ns);
}

static void leave_thread(struct dw_ledger *log, uint32_t thread)
{
    dw_ledger_end_thread(log, thread);
    dw_ledger_leave_thread(log, dw_sample_probe.bit, thread);
}

static void end_thread(void *context, struct dw_slot *slot)
{
    struct dw_sample_recording *recording = context;
    complete_thread(recording, slot);
    if (slot->thread)
        leave_thread(recording->log, slot->thread - 1);
    slot->thread = 0;
}

static void drain_all(struct dw_sample_recording *recording)
{
    for (uint32_t i = 0; i < recording->threads.count; i++)
        dw_sample_drain(&recording->places, recording->threads.slots[i]);
}

/* The CPU time of the process that belongs to no thread that we have seen, up to a constant. */
static uint64_t unseen_cpu_ns(struct dw_sample_recording *recording)
{
    uint64_t whole_ns = dw_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return whole_ns - dw_sample_threads_cpu_ns(&recording->threads) - recording->own_ended_ns;
}

/* Threads that came and went unseen count as missed samples, as many as they would have had. */
static void count_unseen(struct dw_sample_recording *recording)
{
    uint64_t unseen_ns = unseen_cpu_ns(recording), period_ns = recording->options.period_ns;
    if (unseen_ns < recording->unseen_ns + UNSEEN_NS ||
        unseen_ns > recording->unseen_ns + INT64_MAX)
        return;
    uint64_t missed = (unseen_ns - recording->unseen_ns) / period_ns;
    recording->log->sampling.missed += missed;
    recording->unseen_ns += missed * period_ns;
}

static void look_at_limit(struct dw_sample_recording *recording)
{
    recording->places.may_be_held_back = dw_timer_may_be_held_back(recording->options.period_ns);
}

/* In a forked child the file is made when there is something to tell. */
static bool prepare_flush(struct dw_sample_recording *recording)
{
    if (recording->log->path && dw_ledger_is_late(recording->log) &&
        dw_samples_are_none(recording->log))
        return false;
    dw_sample_name_threads(&recording->reader, &recording->threads, true);
    count_unseen(recording);
    look_at_limit(recording);
    recording->flushed_ns = dw_clock_ns(CLOCK_MONOTONIC);
    return true;
}

static void flush(struct dw_sample_recording *recording)
{
    if (prepare_flush(recording))
        dw_ledger_flush(recording->log, dw_samples_collect, NULL, false);
}

/* Addresses have other names from now on. */
static void rename_places(struct dw_sample_recording *recording)
{
    recording->places.natives.is_renamed = false;
    dw_sample_places_forget(&recording->places, true);
    for (uint32_t i = 0; i < recording->threads.count; i++)
        dw_sample_drain_rename(&recording->places, recording->threads.slots[i]);
}

/* Samples in the rings may be of code as it was before. */
static void refresh_natives(struct dw_sample_recording *recording)
{
    struct dw_sample_natives *natives = &recording->places.natives;
    if (dw_sample_natives_made_changed(natives)) {
        drain_all(recording);
        dw_sample_natives_look_at_made(natives);
        if (natives->is_renamed)
            rename_places(recording);
    }
    if (dw_sample_natives_changed(natives))
        dw_sample_natives_refresh(natives);
    if (natives->former.count) {
        drain_all(recording);
        dw_sample_places_forget(&recording->places,
                                natives->former.unloads != natives->modules.unloads);
        dw_sample_natives_forget_former(natives);
    } else if (!dw_sample_threads_are_busy(&recording->threads)) {
        dw_sample_natives_reap(natives);
    }
}

static void keep_signal(struct dw_sample_recording *recording)
{
    if (dw_handler_is_ours())
        return;
    int signal = dw_handler_install();
    if (signal > 0)
        dw_sample_threads_use_signal(&recording->threads, signal);
}

/* A thread that is ready to run but has no CPU may be on its way out of a system call, which a
 * signal would still interrupt. It also stands where kernels like to take a CPU away, which is
 * not where it spends its time. One that never has a CPU when we have one is asked all the same. */
static bool may_be_signalled(const struct dw_slot *slot, uint64_t cpu_ns)
{
    return dw_thread_cpu_ns(slot->tid) > cpu_ns || cpu_ns - slot->cpu_asked_ns > PATIENCE_NS;
}

/* Without timers: whoever ran since the last time is asked for a sample. */
static void send_signals(struct dw_sample_recording *recording, uint64_t now_ns)
{
    for (uint32_t i = 0; i < recording->threads.count; i++) {
        struct dw_slot *slot = recording->threads.slots[i];
        if (dw_timer_is_on(slot) || atomic_load(&slot->tight_stack))
            continue;
        uint64_t cpu_ns = dw_thread_cpu_ns(slot->tid);
        if (cpu_ns - slot->cpu_asked_ns <= recording->options.period_ns / 2)
            continue;
        if (!dw_sleep_account(&recording->reader, slot, cpu_ns, now_ns)) {
            if (!may_be_signalled(slot, cpu_ns))
                continue;
            dw_thread_signal(slot, recording->threads.signal);
        }
        slot->cpu_asked_ns = cpu_ns;
    }
}

static bool is_wall(const struct dw_sample_recording *recording)
{
    return recording->options.mode == DW_SAMPLE_WALL;
}

static void look_at_kernel(struct dw_sample_recording *recording, uint64_t now_ns)
{
    int signal = recording->threads.signal;
    for (uint32_t i = 0; i < recording->threads.count; i++) {
        struct dw_slot *slot = recording->threads.slots[i];
        tell_tight_stack(recording, slot);
        if (slot->silent_looks)
            dw_timer_renew(slot, recording->options.period_ns, signal);
        if (slot->period_ns || atomic_load(&slot->tight_stack))
            dw_sleep_look_at_kernel(&recording->reader, slot, signal, now_ns);
    }
}

static void look_at_sleepers(struct dw_sample_recording *recording, uint64_t now_ns)
{
    for (uint32_t i = 0; i < recording->threads.count; i++)
        if (dw_sleep_look(&recording->reader, recording->threads.slots[i], now_ns))
            recording->turned_ns = now_ns;
}

static void pay_kernel(struct dw_sample_recording *recording, uint64_t now_ns)
{
    for (uint32_t i = 0; i < recording->threads.count; i++) {
        struct dw_slot *slot = recording->threads.slots[i];
        if (slot->owed_ns)
            dw_timer_tick(slot, recording->threads.signal);
        dw_sleep_pay_kernel(&recording->reader, slot, now_ns, false);
    }
}

void dw_sample_recording_enter_births(struct dw_sample_recording *recording)
{
    struct dw_birth *next;
    for (struct dw_birth *birth = dw_births_take(); birth; birth = next) {
        bool was_found = dw_slot_find(birth->tid);
        struct dw_slot *slot = dw_sample_threads_enter(&recording->threads, birth->tid);
        if (was_found) /* only just before it said so */
            recording->found_ns = 0;
        if (slot) {
            dw_sample_threads_set_stack(slot, birth->stack_start, birth->stack_end);
            dw_sample_set_name(&recording->reader, slot, birth->name, birth->name_size);
        }
        next = birth->next;
        free(birth);
    }
}

static void look_at_threads(struct dw_sample_recording *recording, uint64_t now_ns, bool quick)
{
    recording->quick_ns = now_ns;
    if (!dw_sample_threads_changed(&recording->threads, quick))
        return;
    if (dw_sample_threads_look(&recording->threads, end_thread, recording))
        recording->found_ns = now_ns;
}

/* Threads that are not announced tend to come one after the other. */
static bool looks_quickly(const struct dw_sample_recording *recording, uint64_t now_ns)
{
    return recording->found_ns && now_ns - recording->found_ns < QUICK_LOOKS_NS;
}

static uint64_t flush_period_ns(const struct dw_sample_recording *recording, uint64_t now_ns)
{
    uint64_t part_ns = (now_ns - recording->begun_ns) / FLUSH_PART;
    return part_ns < FIRST_FLUSH_NS ? FIRST_FLUSH_NS
           : part_ns < DW_FLUSH_NS  ? part_ns
                                    : DW_FLUSH_NS;
}

static uint64_t look_ns(const struct dw_sample_recording *recording)
{
    return recording->options.period_ns < BUSY_PERIOD_NS ? BUSY_LOOK_NS : LOOK_NS;
}

/* A look that was late does not make the next one, which is in time, come too early. */
static bool is_look_due(const struct dw_sample_recording *recording, uint64_t now_ns)
{
    return now_ns - recording->looked_ns >= look_ns(recording) / 4 * 3;
}

void dw_sample_recording_work(struct dw_sample_recording *recording, uint64_t now_ns)
{
    if (is_look_due(recording, now_ns)) {
        recording->looked_ns = now_ns;
        keep_signal(recording);
        refresh_natives(recording);
        dw_stack_watch_renew();
        look_at_threads(recording, now_ns, false);
        for (uint32_t i = 0; i < recording->threads.count; i++)
            dw_timer_settle(recording->threads.slots[i]);
        dw_sample_threads_find_stacks(&recording->threads);
        drain_all(recording);
        look_at_kernel(recording, now_ns);
        pay_kernel(recording, now_ns);
        dw_sample_name_threads(&recording->reader, &recording->threads, false);
        if (recording->places.has_event_loop)
            dw_tasks_learn_soon();
    } else if (looks_quickly(recording, now_ns) && now_ns - recording->quick_ns >= QUICK_LOOK_NS) {
        look_at_threads(recording, now_ns, true);
        if (!dw_births_come()) /* else names come along with the threads */
            dw_sample_name_threads(&recording->reader, &recording->threads, false);
    }
    if (recording->threads.is_refused)
        send_signals(recording, now_ns);
    if (is_wall(recording))
        look_at_sleepers(recording, now_ns);
    if (now_ns - recording->flushed_ns >= flush_period_ns(recording, now_ns))
        flush(recording);
}

/* In wall mode: while threads only run, or only wait, fewer looks see as much. */
static uint64_t sleeper_look_ns(const struct dw_sample_recording *recording, uint64_t now_ns)
{
    uint64_t period_ns = recording->options.period_ns;
    bool is_calm = now_ns - recording->turned_ns > CALM_AFTER_NS;
    return is_calm && period_ns < CALM_LOOK_NS ? CALM_LOOK_NS : period_ns;
}

uint64_t dw_sample_recording_interval_ns(const struct dw_sample_recording *recording,
                                         uint64_t now_ns)
{
    uint64_t most_ns = looks_quickly(recording, now_ns) ? QUICK_LOOK_NS : look_ns(recording);
    uint64_t asked_ns = recording->threads.is_refused ? recording->options.period_ns
                        : is_wall(recording)          ? sleeper_look_ns(recording, now_ns)
                                                      : most_ns;
    return asked_ns < most_ns ? asked_ns : most_ns;
}

/* A child has the ledger of its parent, emptied. */
static int open_log(struct dw_sample_recording *recording)
{
    const struct dw_sampler_options *options = &recording->options;
    struct dw_ledger_options file = {.path = options->log_file};
    int error = recording->log ? 0 : dw_ledger_open(&file, &recording->log);
    if (error)
        return error;
    recording->log->timeline = options->timeline;
    recording->log->sampling = (struct dw_sampling){
        .mode = options->mode,
        .native = options->native,
        .period_ns = options->period_ns,
    };
    return 0;
}

void dw_sample_recording_release(struct dw_sample_recording *recording)
{
    dw_births_discard();
    dw_sample_threads_release(&recording->threads);
    dw_sample_reader_release(&recording->reader);
    dw_sample_places_release(&recording->places);
    dw_ledger_release(recording->log);
    recording->log = NULL;
}

/* Before the first samples, which would have to read stacks with care: that of this thread, and
 * those of threads that wait. */
static void want_stacks(struct dw_sample_recording *recording)
{
    for (uint32_t i = 0; i < recording->threads.count; i++) {
        struct dw_slot *slot = recording->threads.slots[i];
        atomic_store(&slot->stack_wanted, slot->tid == gettid()
                                              ? (uintptr_t)__builtin_frame_address(0)
                                              : dw_stand_stack_pointer(slot));
    }
}

/* A child has one thread, whose stack is known. It may have others by now, which the next look
 * finds: children that end before that should not need /proc. */
static bool enter_heir(struct dw_sample_recording *recording)
{
    const struct dw_sample_heritage *heritage = &recording->heritage;
    struct dw_slot *slot =
        heritage->stack_end ? dw_sample_threads_enter(&recording->threads, gettid()) : NULL;
    if (slot)
        dw_sample_threads_set_stack(slot, heritage->stack_start, heritage->stack_end);
    return slot != NULL;
}

static void enter_threads(struct dw_sample_recording *recording)
{
    if (!enter_heir(recording)) {
        dw_sample_threads_look(&recording->threads, end_thread, recording);
        want_stacks(recording);
        dw_sample_threads_find_stacks(&recording->threads);
    }
    recording->heritage = (struct dw_sample_heritage){0};
}

static int open_natives(struct dw_sample_recording *recording)
{
    struct dw_sample_natives *natives = &recording->places.natives;
    struct dw_sample_natives *heir = &recording->heritage.natives;
    if (heir->view_count && heir->with_frames == recording->options.native)
        return dw_sample_natives_inherit(natives, heir);
    dw_sample_natives_release(heir);
    natives->with_frames = recording->options.native;
    return dw_sample_natives_init(natives, dw_handler_publish);
}

static int open_all(struct dw_sample_recording *recording)
{
    int error = open_log(recording);
    if (!error)
        error = dw_numbers_reset(&dw_sample_codes);
    if (!error)
        error = dw_tasks_reset();
    if (!error)
        error = dw_sample_places_init(&recording->places, recording->log, &dw_sample_codes);
    if (!error && recording->options.base.name)
        error = dw_sample_places_set_base(&recording->places, &recording->options.base);
    if (!error)
        error = open_natives(recording);
    return error ? error
                 : dw_sample_reader_init(&recording->reader, &recording->places,
                                         &recording->heritage.python);
}

/* One signal that takes no sample tells how much room signals need. */
static void measure_signal(int signal)
{
    const struct dw_slot *slot = dw_slot_find((pid_t)gettid());
    if (slot)
        dw_thread_signal(slot, signal);
}

int dw_sample_recording_begin(struct dw_sample_recording *recording,
                              const struct dw_sampler_options *options)
{
    int signal = dw_handler_install();
    if (signal < 0)
        return signal;
    struct dw_ledger *log = recording->log;
    struct dw_sample_heritage heritage = recording->heritage;
    memset(recording, 0, sizeof *recording);
    recording->log = log;
    recording->heritage = heritage;
    recording->options = *options;
    recording->threads.period_ns = options->period_ns;
    recording->threads.signal = signal;
    int error = open_all(recording);
    if (error) {
        int saved_errno = errno;
        if (recording->log)
            dw_ledger_stop(recording->log);
        dw_sample_recording_release(recording);
        errno = saved_errno;
        return error;
    }
    look_at_limit(recording);
    dw_stack_watch_start();
    enter_threads(recording);
    measure_signal(signal);
    dw_handler_enable(true);
    recording->unseen_ns = unseen_cpu_ns(recording);
    recording->begun_ns = recording->looked_ns = recording->flushed_ns =
        dw_clock_ns(CLOCK_MONOTONIC);
    if (recording->log->path && !dw_ledger_is_late(recording->log))
        flush(recording); /* so that the file can be read from the start on */
    return 0;
}

void dw_sample_recording_before_fork(struct dw_sample_recording *recording)
{
    recording->heritage.thread = gettid();
    refresh_natives(recording);
    drain_all(recording);
}

void dw_sample_recording_save(struct dw_sample_recording *recording)
{
    refresh_natives(recording);
    drain_all(recording);
    if (prepare_flush(recording))
        dw_ledger_flush_end(recording->log, dw_samples_collect, NULL);
}

int dw_sample_recording_end(struct dw_sample_recording *recording)
{
    dw_sample_recording_enter_births(recording);
    dw_handler_enable(false);
    dw_sample_threads_stop(&recording->threads);
    dw_stack_watch_stop();
    while (dw_sample_threads_are_busy(&recording->threads))
        sched_yield();
    refresh_natives(recording);
    for (uint32_t i = 0; i < recording->threads.count; i++)
        complete_thread(recording, recording->threads.slots[i]);
    flush(recording);
    for (uint32_t i = 0; i < recording->threads.count; i++)
        if (recording->threads.slots[i]->thread)
            dw_ledger_leave_thread(recording->log, dw_sample_probe.bit,
                                   recording->threads.slots[i]->thread - 1);
    return dw_ledger_stop(recording->log);
}

static void leave_stack(struct dw_sample_recording *recording)
{
    struct dw_sample_heritage *heritage = &recording->heritage;
    const struct dw_slot *slot = dw_slot_find(heritage->thread);
    heritage->stack_start = slot ? atomic_load(&slot->stack_start) : 0;
    heritage->stack_end = slot ? atomic_load(&slot->stack_end) : 0;
}

void dw_sample_recording_abandon(struct dw_sample_recording *recording)
{
    struct dw_ledger *log = recording->log;
    leave_stack(recording);
    dw_handler_enable(false);
    dw_sample_threads_disown(&recording->threads);
    dw_sample_natives_leave(&recording->places.natives, &recording->heritage.natives);
    dw_sample_reader_leave(&recording->reader, &recording->heritage.python);
    recording->log = NULL; /* it is the child's own by now */
    dw_sample_recording_release(recording);
    recording->log = log;
}
