/* SPDX-License-Identifier: MIT
 * Decides how a thread is read: not at all while it waits where it was, mostly once; again or
 * stopped when the stack was not whole, or to learn which calls there are. The share of its time
 * that a thread is stopped for these is limited; with native frames each look stops it. */
#include "attach/sampling/watched.h"

#include "attach/sampling/native_look.h"
#include "attach/target/stop.h"
#include "base/clock.h"

#include <stdlib.h>

#define SURE_WITHIN_NS 200000 /* a thread with the GIL that ran this recently runs */
#define SURE_TRIES 3          /* the first may find code that is new */
#define TRIES 30
#define STOPPED_SHARE 50 /* a thread runs this much longer than it is stopped for looks */

/* A thread that waits is not stopped: its stack can be read without that, and its system call would
 * end. */
static bool stop(struct dw_sampler *sampler, struct dw_watched *thread, int *signal)
{
    enum dw_activity activity = dw_activity_read(&thread->activity, thread->live.gil);
    uint64_t begun_ns = dw_clock_ns(CLOCK_MONOTONIC);
    if (!thread->id || dw_activity_waits(activity) ||
        !dw_thread_stop(sampler->target.pid, thread->id, signal))
        return false;
    thread->stopped_ns -= begun_ns;
    sampler->stops++;
    return true;
}

/* The time that a thread stood still for us does not count as the program's. */
static void let_go(struct dw_watched *thread, int signal)
{
    dw_thread_let_go(thread->id, signal);
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    thread->stopped_ns += now_ns;
    thread->stop_next_ns = now_ns + STOPPED_SHARE * thread->stopped_ns;
}

/* With the thread standing still. */
static enum dw_live_result read_stopped(struct dw_sampler *sampler, struct dw_watched *thread,
                                        uint64_t now_ns, struct dw_live_look *look, int *error)
{
    int signal;
    if (!stop(sampler, thread, &signal))
        return DW_LIVE_AGAIN;
    enum dw_live_result result =
        dw_live_read_stopped(&sampler->reader, &thread->live, &sampler->stack, look);
    if (result == DW_LIVE_GOOD)
        *error = dw_watched_find_path(sampler, thread, DW_READING_STOPPED, look, now_ns);
    if (result == DW_LIVE_GOOD)
        dw_live_learn(&sampler->reader, &thread->live, &sampler->stack);
    let_go(thread, signal);
    return result == DW_LIVE_GOOD && dw_is_foreign(*error) ? DW_LIVE_AGAIN : result;
}

static enum dw_live_result read_once(struct dw_sampler *sampler, struct dw_watched *thread,
                                     bool sure, uint64_t now_ns, struct dw_live_look *look,
                                     int *error)
{
    enum dw_live_result result =
        dw_live_read(&sampler->reader, &thread->live, sure, &sampler->stack, look);
    enum dw_reading reading = sure ? DW_READING_SURE : DW_READING_LIKELY;
    *error =
        result == DW_LIVE_GOOD ? dw_watched_find_path(sampler, thread, reading, look, now_ns) : 0;
    return dw_is_foreign(*error) ? DW_LIVE_AGAIN : result;
}

static enum dw_live_result read_surely(struct dw_sampler *sampler, struct dw_watched *thread,
                                       uint64_t now_ns, struct dw_live_look *look, int *error,
                                       int tries)
{
    enum dw_live_result result = DW_LIVE_AGAIN;
    for (int i = 0; i < tries && result == DW_LIVE_AGAIN; i++)
        result = read_once(sampler, thread, true, now_ns, look, error);
    return result;
}

/* Of a stack that was not read whole. The thread is stopped for it, unless that happens all the
 * time. */
static enum dw_live_result read_again(struct dw_sampler *sampler, struct dw_watched *thread,
                                      uint64_t now_ns, struct dw_live_look *look, int *error)
{
    enum dw_live_result result = read_surely(sampler, thread, now_ns, look, error, SURE_TRIES);
    if (result == DW_LIVE_AGAIN && now_ns >= thread->stop_next_ns)
        result = read_stopped(sampler, thread, now_ns, look, error);
    return result == DW_LIVE_AGAIN ? read_surely(sampler, thread, now_ns, look, error, TRIES)
                                   : result;
}

static bool is_same_stack(const struct dw_raw_stack *stack, uint32_t count,
                          const struct dw_raw_frame *innermost)
{
    return stack->count == count && stack->frames[0].address == innermost->address &&
           stack->frames[0].code == innermost->code;
}

/* For a stack with a call that was never seen. When it is still there a sure reading shows it all.
 * Else its path ends at that call, and stopping the thread shows which calls there are where it is
 * now. That is not the sample: to take what lasted long enough would be to miss all short calls. */
static int prove_calls(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_live_look look = {.code = 0};
    struct dw_raw_frame innermost = sampler->stack.frames[0];
    dw_path_id path = thread->path;
    uint32_t count = sampler->stack.count;
    int error = 0;
    enum dw_live_result result = read_surely(sampler, thread, now_ns, &look, &error, SURE_TRIES);
    if (result == DW_LIVE_GOOD && is_same_stack(&sampler->stack, count, &innermost))
        return error;
    if (result != DW_LIVE_GONE && now_ns >= thread->stop_next_ns)
        read_stopped(sampler, thread, now_ns, &look, &error);
    thread->path = path;
    thread->is_short = false; /* nothing more can be learnt of it */
    sampler->stack.count = 0; /* it is not the sample's */
    return dw_is_foreign(error) ? 0 : error;
}

/* When frames are hardly ever where they are looked for, the few stacks that are found are not a
 * fair choice. So finding one does not decide whether the thread is stopped. */
static enum dw_live_result read_stack(struct dw_sampler *sampler, struct dw_watched *thread,
                                      uint64_t now_ns, struct dw_live_look *look, int *error)
{
    enum dw_live_result result = DW_LIVE_AGAIN;
    if (dw_live_is_astray(&thread->live) && now_ns >= thread->stop_next_ns) {
        result = read_stopped(sampler, thread, now_ns, look, error);
        sampler->log->sampling.retried += result == DW_LIVE_GOOD;
    }
    if (result == DW_LIVE_AGAIN) {
        result = read_once(sampler, thread, false, now_ns, look, error);
        sampler->log->sampling.retried += result == DW_LIVE_AGAIN;
    }
    if (result == DW_LIVE_AGAIN)
        result = read_again(sampler, thread, now_ns, look, error);
    if (dw_is_foreign(*error))
        *error = 0;
    if (result == DW_LIVE_GOOD && !*error && sampler->is_to_prove)
        *error = prove_calls(sampler, thread, now_ns);
    return result;
}

/* A thread that waited for the GIL, has not got it and stands where it stood is on its way to
 * try again. */
static bool still_wants_gil(const struct dw_watched *thread, const struct dw_live_look *look)
{
    return thread->state == DW_SAMPLE_GIL && thread->path == thread->last_path &&
           look->gil_holder && look->gil_holder != thread->live.state;
}

/* Who touches memory while we read it may wait for us, for a moment. One that has not had a CPU for
 * longer waits for a disk. */
static bool just_ran(const struct dw_watched *thread)
{
    return thread->cpu->switches && thread->has_cpu;
}

static uint32_t state_of(struct dw_watched *thread, const struct dw_live_look *look,
                         uint64_t now_ns)
{
    bool holds_gil = look->gil_holder == thread->live.state;
    uint32_t flag = holds_gil ? DW_SAMPLE_HOLDS_GIL : 0;
    if (holds_gil && now_ns - thread->ran_ns < SURE_WITHIN_NS)
        return DW_SAMPLE_RUNNING | flag;
    enum dw_activity activity = dw_activity_read(&thread->activity, thread->live.gil);
    if (activity == DW_ACTIVITY_WAITS_FOR_MEMORY)
        activity = just_ran(thread) ? DW_ACTIVITY_RUNS : DW_ACTIVITY_WAITS;
    if (activity == DW_ACTIVITY_RUNS && still_wants_gil(thread, look))
        return DW_SAMPLE_GIL;
    if (activity == DW_ACTIVITY_UNKNOWN)
        activity = holds_gil ? DW_ACTIVITY_RUNS : DW_ACTIVITY_WAITS;
    thread->ran_ns = activity == DW_ACTIVITY_RUNS ? now_ns : 0;
    return activity == DW_ACTIVITY_RUNS            ? DW_SAMPLE_RUNNING | flag
           : activity == DW_ACTIVITY_WAITS_FOR_GIL ? DW_SAMPLE_GIL
                                                   : DW_SAMPLE_WAITING | flag;
}

bool dw_watched_runs(const struct dw_watched *thread)
{
    uint32_t state = thread->state & DW_SAMPLE_STATE_MASK;
    return thread->has_stack && state != DW_SAMPLE_WAITING && state != DW_SAMPLE_GIL;
}

static bool holds_gil(const struct dw_watched *thread)
{
    return (thread->state & DW_SAMPLE_HOLDS_GIL) != 0;
}

/* An interpreter that entered another one waits for it, though their thread runs. That the thread
 * has not had another turn says nothing about this state: it is looked at again. */
static void let_wait(struct dw_watched *thread)
{
    thread->state = DW_SAMPLE_WAITING;
    thread->ran_ns = 0;
    thread->activity.turns[0] = 0;
}

static bool is_shared(const struct dw_watched *thread)
{
    return thread->cpu->users > 1 && thread->has_stack &&
           (thread->state & DW_SAMPLE_STATE_MASK) != DW_SAMPLE_WAITING;
}

/* The runner is the state that has the GIL, else the youngest, which the others have entered. */
void dw_watched_choose_runners(struct dw_sampler *sampler)
{
    struct dw_watched *threads = sampler->threads, *end = threads + sampler->thread_count;
    for (struct dw_watched *thread = threads; thread < end; thread++)
        thread->cpu->runner = NULL;
    for (struct dw_watched *thread = threads; thread < end; thread++) {
        struct dw_watched *runner = thread->cpu->runner;
        if (is_shared(thread) && (!runner || holds_gil(thread) || !holds_gil(runner)))
            thread->cpu->runner = thread;
    }
    for (struct dw_watched *thread = threads; thread < end; thread++)
        if (is_shared(thread) && thread->cpu->runner != thread)
            let_wait(thread);
}

static int look_plainly(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_live_look look = {.code = 0};
    int error = 0;
    thread->same_count = UINT32_MAX;
    thread->is_mapping = false;
    enum dw_live_result result = read_stack(sampler, thread, now_ns, &look, &error);
    if (result == DW_LIVE_GONE)
        thread->is_listed = thread->has_stack = false;
    thread->is_missed = result == DW_LIVE_AGAIN;
    sampler->log->sampling.missed += thread->is_missed;
    if (result != DW_LIVE_GOOD || error)
        return error;
    thread->has_stack = true;
    thread->state = state_of(thread, &look, now_ns);
    if (look.has_waited && dw_watched_runs(thread))
        error = dw_watched_check_map(sampler, thread, now_ns);
    else if (thread->is_short && !dw_watched_runs(thread)) /* it may stay there for long */
        error = prove_calls(sampler, thread, now_ns);
    sampler->log->sampling.cut += !thread->is_mapping && sampler->stack.state == DW_STACK_CUT;
    return error;
}

/* What native frames need, made when the first sample is taken. */
static int prepare_native(struct dw_sampler *sampler, uint64_t now_ns)
{
    int error = 0;
    if (!sampler->merged) {
        sampler->merged = malloc((DW_SAMPLER_DEPTH + DW_NATIVE_DEPTH) * sizeof *sampler->merged);
        error = sampler->merged ? 0 : DW_ERR_MEMORY;
    }
    if (!error && !sampler->native.copy)
        error = dw_native_code_init(&sampler->native, &sampler->python);
    return error ? error : dw_native_code_refresh(&sampler->native, now_ns);
}

static int keep_merged(struct dw_sampler *sampler, struct dw_watched *thread,
                       enum dw_activity activity, const struct dw_live_look *look, uint64_t now_ns)
{
    struct dw_native_stack *native = &sampler->native_stack;
    bool holds_gil = thread->live.state && look->gil_holder == thread->live.state;
    uint32_t flag = holds_gil ? DW_SAMPLE_HOLDS_GIL : 0;
    dw_native_stack_unwind(&sampler->native, native);
    int error = dw_watched_find_merged_path(sampler, thread, now_ns);
    if (error)
        return error;
    bool in_python = dw_native_code_is_python(&sampler->native, native->registers.pc);
    thread->has_stack = true;
    thread->state = activity == DW_ACTIVITY_WAITS_FOR_GIL ? DW_SAMPLE_GIL
                    : dw_activity_waits(activity)         ? DW_SAMPLE_WAITING | flag
                    : in_python                           ? DW_SAMPLE_PYTHON | flag
                                                          : DW_SAMPLE_NATIVE | flag;
    sampler->log->sampling.guessed += native->is_guessed;
    sampler->log->sampling.cut += sampler->stack.state != DW_STACK_CUT && !native->is_complete;
    return 0;
}

/* Both stacks, copied at one moment. */
static bool look_at_both(struct dw_sampler *sampler, struct dw_watched *thread,
                         struct dw_native_look *look)
{
    *look = (struct dw_native_look){.code = &sampler->native,
                                    .reader = &sampler->reader,
                                    .thread = &thread->live,
                                    .files = &thread->activity,
                                    .id = thread->id,
                                    .python = &sampler->stack,
                                    .native = &sampler->native_stack};
    bool good = dw_native_look(look);
    thread->stopped_ns += look->stopped_ns;
    sampler->stops += look->stopped_ns != 0;
    return good;
}

/* Whether it is in another function than it was before it was told to stop. */
static bool has_moved(const struct dw_native_look *look, uint64_t code, uint32_t depth)
{
    const struct dw_raw_stack *now = look->python;
    return now->count != depth || (depth && now->frames[0].code != code);
}

/* A thread stops some microseconds after it was told to, or before that when a system call ends,
 * which is not a fair choice. So the sample has the native stack only when the thread is still in
 * the same function. When that cannot be read, the sample counts as guessed. */
static int look_natively(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_native_look look;
    int error = prepare_native(sampler, now_ns);
    if (!error)
        error = look_plainly(sampler, thread, now_ns);
    if (error || !thread->is_listed || thread->is_mapping)
        return error;
    bool is_read = thread->has_stack && !thread->is_missed, ran = dw_watched_runs(thread);
    if (is_read && ran && !thread->has_cpu)
        return 0; /* it would stop when it has one, and be elsewhere */
    uint32_t depth = sampler->stack.count;
    uint64_t code = depth ? sampler->stack.frames[0].code : 0;
    bool good = look_at_both(sampler, thread, &look);
    bool runs = look.activity == DW_ACTIVITY_RUNS;
    if (good && is_read && (runs != ran || (runs && has_moved(&look, code, depth))))
        return 0;
    if (good)
        error = keep_merged(sampler, thread, look.activity, &look.live, now_ns);
    if (!good || dw_is_foreign(error)) {
        sampler->log->sampling.guessed += is_read;
        return 0;
    }
    sampler->log->sampling.missed -= thread->is_missed;
    thread->is_missed = false;
    return error;
}

/* Whether it is ready without a CPU. It would stop when it has one, and be elsewhere. */
static bool wants_cpu(const struct dw_watched *thread)
{
    return !thread->has_cpu && dw_activity_read(&thread->activity, 0) == DW_ACTIVITY_RUNS;
}

/* A thread that Python does not know has native frames only; those of the kernel's own threads have
 * none. */
static int look_at_unknown(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_native_look look;
    int error = prepare_native(sampler, now_ns);
    if (error)
        return error;
    if (wants_cpu(thread)) {
        thread->is_missed = !dw_watched_runs(thread);
        return 0;
    }
    sampler->stack.count = 0;
    sampler->stack.state = DW_STACK_WHOLE;
    thread->is_missed = !look_at_both(sampler, thread, &look);
    if (!thread->is_missed)
        error = keep_merged(sampler, thread, look.activity, &look.live, now_ns);
    thread->is_missed |= dw_is_foreign(error);
    sampler->log->sampling.missed += thread->is_missed && sampler->native_stack.registers.sp;
    return dw_is_foreign(error) ? 0 : error;
}

/* A thread that waited and did not run since is where it was. One that is gone is not sampled
 * any more; of one that cannot be read there is no sample this time. */
int dw_watched_look(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    bool waited = thread->has_stack && !dw_watched_runs(thread);
    thread->last_path = thread->path;
    thread->last_state = thread->has_stack ? thread->state : DW_NO_STATE;
    thread->is_missed = false;
    if (waited && !dw_activity_has_run(&thread->activity))
        return 0;
    if (!thread->live.state)
        return look_at_unknown(sampler, thread, now_ns);
    return sampler->log->sampling.native ? look_natively(sampler, thread, now_ns)
                                         : look_plainly(sampler, thread, now_ns);
}
