/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/sampler.h"

#include "attach/activity.h"
#include "attach/stop.h"
#include "attach/thread_names.h"
#include "base/clock.h"
#include "base/grow.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 20000
#define LIST_AFTER_NS 5000000      /* how long the list of threads is believed */
#define LOOK_UP_AFTER_NS 50000000  /* how long frames that did not change are */
#define FIND_AFTER_NS 20000000     /* between looks for a Python in a new program */
#define SURE_WITHIN_NS 200000      /* a thread with the GIL that ran this recently runs */
#define MAX_PENDING 65536
#define TRIES 30

/* A sample that has its weight when the kernel has counted the CPU time. */
struct dw_pending_sample {
    uint32_t log_thread, state;
    dw_path_id path;
    uint64_t now_ns, elapsed_ns;
};

/* A frame of the last stack and where it is in the recording. */
struct known_frame {
    struct dw_raw_frame frame;
    dw_path_id path;
    dw_place_id place; /* of it, or of the next frame outside that is shown */
};

struct dw_watched {
    struct dw_live_thread live;
    uint64_t ident;
    pid_t id; /* the kernel's, here; 0: unknown */
    struct dw_activity_files activity;
    uint64_t ran_ns; /* when the kernel said that it runs */
    uint32_t log_thread;
    struct known_frame *known; /* owned; outermost first */
    uint32_t known_count, known_capacity;
    uint64_t looked_up_ns;
    bool has_stack, is_listed;
    dw_path_id path;
    uint32_t state;
    uint64_t last_ns; /* its last sample */
};

static void release_thread(struct dw_watched *thread)
{
    dw_activity_close(&thread->activity);
    free(thread->known);
}

static void forget_process(struct dw_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        release_thread(&sampler->threads[i]);
    sampler->thread_count = 0;
    dw_live_reader_release(&sampler->reader);
    dw_code_cache_release(&sampler->cache);
    dw_map_release(&sampler->call_index);
    sampler->call_count = 0;
    dw_target_release(&sampler->target);
}

void dw_sampler_release(struct dw_sampler *sampler)
{
    forget_process(sampler);
    free(sampler->threads);
    free(sampler->pending);
    free(sampler->calls);
    dw_raw_stack_release(&sampler->stack);
    dw_py_threads_release(&sampler->listed);
    dw_tasks_release(&sampler->tasks);
    *sampler = (struct dw_sampler){0};
}

static int find_process(struct dw_sampler *sampler, pid_t pid)
{
    int error = dw_target_open(pid, &sampler->target);
    if (!error)
        error = dw_python_locate(&sampler->target, &sampler->python);
    if (!error)
        error = dw_live_reader_init(&sampler->reader, &sampler->python, MAX_DEPTH);
    if (!error)
        error = dw_py_threads_read(&sampler->python, &sampler->listed);
    return error;
}

int dw_sampler_init(struct dw_sampler *sampler, pid_t pid, struct dw_sample_log *log)
{
    *sampler = (struct dw_sampler){.log = log};
    int error = find_process(sampler, pid);
    return error ? error : dw_raw_stack_init(&sampler->stack, MAX_DEPTH);
}

static struct dw_watched *find_watched(const struct dw_sampler *sampler,
                                       const struct dw_py_thread *thread)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        struct dw_watched *watched = &sampler->threads[i];
        if (watched->live.state == thread->state && watched->ident == thread->ident &&
            watched->live.native_id == thread->native_id)
            return watched;
    }
    return NULL;
}

/* The name that `threading` has for it, else the kernel's. */
static int name_thread(struct dw_sampler *sampler, const struct dw_watched *watched,
                       uint64_t active)
{
    struct dw_task task;
    struct dw_buffer *text = &sampler->cache.text;
    dw_buffer_clear(text);
    if (active && !dw_py_thread_name(&sampler->python, active, watched->ident, text))
        return dw_sample_log_name_thread(sampler->log, watched->log_thread,
                                         (const char *)text->data, text->size);
    if (!watched->id || !dw_task_read(sampler->target.pid, watched->id, &task))
        return 0;
    return dw_sample_log_name_thread(sampler->log, watched->log_thread, task.name,
                                     strlen(task.name));
}

int dw_sampler_name_threads(struct dw_sampler *sampler)
{
    uint64_t interpreter = 0, active = 0;
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++) {
        const struct dw_watched *watched = &sampler->threads[i];
        if (watched->live.interpreter != interpreter) {
            interpreter = watched->live.interpreter;
            if (dw_py_named_threads(&sampler->python, interpreter, &active))
                active = 0;
        }
        error = name_thread(sampler, watched, active);
    }
    return error;
}

/* Its first sample stands for half of the time since the threads were listed last: that is
 * how long it has lived on average. */
static int watch(struct dw_sampler *sampler, const struct dw_py_thread *thread, uint64_t now_ns)
{
    const struct dw_task *task = dw_tasks_find(&sampler->tasks, thread->native_id);
    uint64_t unseen_ns = sampler->listed_ns ? (now_ns - sampler->listed_ns) / 2 : 0;
    int error = DW_GROW(sampler->threads, sampler->thread_count, sampler->thread_capacity);
    if (error)
        return error;
    struct dw_watched watched = {.live = {.state = thread->state,
                                          .interpreter = thread->interpreter,
                                          .gil = thread->gil,
                                          .native_id = thread->native_id},
                                 .ident = thread->ident,
                                 .id = task ? task->id : 0,
                                 .activity = {.syscall_fd = -1, .turns_fd = -1},
                                 .is_listed = true,
                                 .last_ns = now_ns - unseen_ns};
    if (task)
        dw_activity_open(sampler->target.pid, task->id, &watched.activity);
    error = dw_sample_log_thread(sampler->log, task ? (uint64_t)task->id : thread->native_id,
                                 &watched.log_thread);
    if (error)
        release_thread(&watched);
    else
        sampler->threads[sampler->thread_count++] = watched;
    return error;
}

/* Takes the threads that ended off the list. */
static void drop_ended(struct dw_sampler *sampler)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        struct dw_watched *watched = &sampler->threads[i];
        if (watched->is_listed)
            sampler->threads[kept++] = *watched;
        else
            release_thread(watched);
    }
    sampler->thread_count = kept;
}

/* CPython puts new threads at the front: from the back, the main thread comes first. */
static int watch_listed(struct dw_sampler *sampler, uint64_t now_ns, bool *has_new)
{
    int error = 0;
    for (uint32_t i = sampler->listed.count; !error && i--;) {
        const struct dw_py_thread *thread = &sampler->listed.threads[i];
        struct dw_watched *watched = find_watched(sampler, thread);
        if (watched) {
            watched->is_listed = true;
            continue;
        }
        if (!*has_new)
            dw_tasks_read(sampler->target.pid, &sampler->tasks);
        *has_new = true;
        error = watch(sampler, thread, now_ns);
    }
    return error;
}

static int list_threads(struct dw_sampler *sampler, uint64_t now_ns)
{
    bool has_new = false;
    int error = dw_py_threads_read(&sampler->python, &sampler->listed);
    if (error)
        return error;
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        sampler->threads[i].is_listed = sampler->listed.incomplete;
    error = watch_listed(sampler, now_ns, &has_new);
    drop_ended(sampler);
    sampler->listed_ns = now_ns;
    return !error && has_new ? dw_sampler_name_threads(sampler) : error;
}

static bool is_known(const struct dw_watched *thread, uint32_t index,
                     const struct dw_raw_frame *frame)
{
    const struct dw_raw_frame *known = &thread->known[index].frame;
    return index < thread->known_count && known->address == frame->address &&
           known->code == frame->code && known->instruction == frame->instruction &&
           known->owner == frame->owner;
}

static bool is_call(const void *entries, uint32_t id, const void *key)
{
    return ((const uint64_t *)entries)[id] == *(const uint64_t *)key;
}

static uint64_t hash_call(const void *entries, uint32_t id)
{
    return dw_hash_mix(((const uint64_t *)entries)[id]);
}

/* A reading that was not sure may have put a function under one that does not call it. So
 * calls count only once they were seen in a reading that is sure; DW_ERR_DAMAGED until then. */
static int check_call(struct dw_sampler *sampler, dw_place_id caller, uint32_t callee, bool sure)
{
    uint64_t call = (uint64_t)caller << 32 | callee, hash = dw_hash_mix(call);
    if (dw_map_find(&sampler->call_index, hash, is_call, sampler->calls, &call) != DW_MAP_NONE)
        return 0;
    if (!sure)
        return DW_ERR_DAMAGED;
    int error = DW_GROW(sampler->calls, sampler->call_count, sampler->call_capacity);
    if (error)
        return error;
    sampler->calls[sampler->call_count] = call;
    error = dw_map_add(&sampler->call_index, hash, sampler->call_count, hash_call, sampler->calls);
    sampler->call_count += !error;
    return error;
}

/* Finds the path of a frame under the one that is known last, and makes it known. */
static int add_known(struct dw_sampler *sampler, struct dw_watched *thread,
                     const struct dw_raw_frame *frame, bool is_innermost, bool sure,
                     uint64_t now_ns)
{
    struct known_frame outer = {.path = DW_PATH_ROOT};
    struct dw_code_place code;
    if (thread->known_count)
        outer = thread->known[thread->known_count - 1];
    struct known_frame known = {*frame, outer.path, outer.place};
    int error = dw_code_cache_place(&sampler->cache, &sampler->python, sampler->log, frame, now_ns,
                                    &code);
    if (!error && !code.has_begun && !is_innermost)
        error = DW_ERR_DAMAGED;
    if (!error && code.place)
        error = check_call(sampler, outer.place, code.identity, sure);
    if (!error && code.place) {
        known.place = code.place;
        error = dw_sample_log_stack(sampler->log, outer.path, code.place, &known.path);
    }
    if (!error)
        error = DW_GROW(thread->known, thread->known_count, thread->known_capacity);
    if (!error)
        thread->known[thread->known_count++] = known;
    return error;
}

/* The path of a stack. Frames that are the same as the last time, from the outermost on, need
 * no looking up. */
static int find_path(struct dw_sampler *sampler, struct dw_watched *thread, bool sure,
                     uint64_t now_ns)
{
    const struct dw_raw_stack *stack = &sampler->stack;
    uint32_t index = 0;
    int error = 0;
    bool all = now_ns - thread->looked_up_ns > LOOK_UP_AFTER_NS;
    while (!all && index < stack->count &&
           is_known(thread, index, &stack->frames[stack->count - 1 - index]))
        index++;
    thread->known_count = index;
    for (; !error && index < stack->count; index++)
        error = add_known(sampler, thread, &stack->frames[stack->count - 1 - index],
                          index + 1 == stack->count, sure, now_ns);
    if (error)
        return error;
    if (all)
        thread->looked_up_ns = now_ns;
    thread->path = stack->count ? thread->known[stack->count - 1].path : DW_PATH_ROOT;
    return 0;
}

static bool is_foreign(int error)
{
    return error == DW_ERR_DAMAGED || error == DW_ERR_UNREADABLE;
}

/* With the thread standing still. */
static enum dw_live_result read_stopped(struct dw_sampler *sampler, struct dw_watched *thread,
                                        uint64_t now_ns, struct dw_live_look *look, int *error)
{
    int signal;
    if (!thread->id || !dw_thread_stop(thread->id, &signal))
        return DW_LIVE_AGAIN;
    enum dw_live_result result =
        dw_live_read_stopped(&sampler->reader, &thread->live, &sampler->stack, look);
    if (result == DW_LIVE_GOOD)
        *error = find_path(sampler, thread, true, now_ns);
    dw_thread_let_go(thread->id, signal);
    sampler->stops++;
    return result == DW_LIVE_GOOD && is_foreign(*error) ? DW_LIVE_AGAIN : result;
}

static enum dw_live_result read_once(struct dw_sampler *sampler, struct dw_watched *thread,
                                     bool sure, uint64_t now_ns, struct dw_live_look *look,
                                     int *error)
{
    enum dw_live_result result =
        dw_live_read(&sampler->reader, &thread->live, sure, &sampler->stack, look);
    *error = result == DW_LIVE_GOOD ? find_path(sampler, thread, sure, now_ns) : 0;
    return is_foreign(*error) ? DW_LIVE_AGAIN : result;
}

/* One reading is enough for nearly all stacks. Those with calls that were never seen have to
 * be read surely, and the thread stopped if they change too fast for that. */
static enum dw_live_result read_stack(struct dw_sampler *sampler, struct dw_watched *thread,
                                      uint64_t now_ns, struct dw_live_look *look, int *error)
{
    enum dw_live_result result = read_once(sampler, thread, false, now_ns, look, error);
    sampler->log->sampling.retried += result == DW_LIVE_AGAIN;
    for (int i = 0; i < TRIES && result == DW_LIVE_AGAIN; i++)
        result = read_once(sampler, thread, true, now_ns, look, error);
    if (result == DW_LIVE_AGAIN)
        result = read_stopped(sampler, thread, now_ns, look, error);
    if (is_foreign(*error))
        *error = 0;
    return result;
}

static uint32_t state_of(struct dw_watched *thread, const struct dw_live_look *look,
                         uint64_t now_ns)
{
    bool holds_gil = look->gil_holder == thread->live.state;
    uint32_t flag = holds_gil ? DW_SAMPLE_HOLDS_GIL : 0;
    if (holds_gil && now_ns - thread->ran_ns < SURE_WITHIN_NS)
        return DW_SAMPLE_RUNNING | flag;
    enum dw_activity activity = dw_activity_read(&thread->activity, thread->live.gil);
    if (activity == DW_ACTIVITY_UNKNOWN)
        activity = holds_gil ? DW_ACTIVITY_RUNS : DW_ACTIVITY_WAITS;
    thread->ran_ns = activity == DW_ACTIVITY_RUNS ? now_ns : 0;
    return activity == DW_ACTIVITY_RUNS              ? DW_SAMPLE_RUNNING | flag
           : activity == DW_ACTIVITY_WAITS_FOR_GIL ? DW_SAMPLE_GIL
                                                   : DW_SAMPLE_WAITING | flag;
}

static bool is_running(const struct dw_watched *thread)
{
    return thread->has_stack && (thread->state & DW_SAMPLE_STATE_MASK) == DW_SAMPLE_RUNNING;
}

/* A thread that waited and did not run since is where it was. One that is gone is not sampled
 * any more; one that cannot be read stays where it was seen last. */
static int look_at(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_live_look look = {0};
    int error = 0;
    bool waited = thread->has_stack && !is_running(thread);
    if (waited && !dw_activity_has_run(&thread->activity))
        return 0;
    enum dw_live_result result = read_stack(sampler, thread, now_ns, &look, &error);
    if (result == DW_LIVE_GONE)
        thread->is_listed = thread->has_stack = false;
    if (result == DW_LIVE_GONE || error)
        return error;
    if (result == DW_LIVE_GOOD) {
        thread->has_stack = true;
        thread->state = state_of(thread, &look, now_ns);
        sampler->log->sampling.cut += sampler->stack.state == DW_STACK_CUT;
    }
    return 0;
}

static int add_sample(struct dw_sampler *sampler, const struct dw_pending_sample *sample,
                      uint64_t weight_ns)
{
    if (!weight_ns)
        return 0;
    sampler->log->sampling.taken++;
    if (sampler->seen)
        sampler->seen(sampler->seen_context, sample->log_thread, sample->path, sample->state,
                      weight_ns);
    return dw_sample_log_add(sampler->log, sample->log_thread, sample->path, sample->state,
                             sample->now_ns, weight_ns);
}

/* The CPU time is shared out among the samples since it was known last, but none gets more
 * than the time that elapsed: the rest is that of threads that Python does not know. */
static int spend_cpu(struct dw_sampler *sampler)
{
    uint64_t elapsed_ns = 0;
    int error = 0;
    for (uint32_t i = 0; i < sampler->pending_count; i++)
        elapsed_ns += sampler->pending[i].elapsed_ns;
    double share = elapsed_ns ? (double)sampler->unspent_cpu_ns / (double)elapsed_ns : 0;
    share = share < 1 ? share : 1;
    for (uint32_t i = 0; !error && i < sampler->pending_count; i++)
        error = add_sample(sampler, &sampler->pending[i],
                           (uint64_t)((double)sampler->pending[i].elapsed_ns * share));
    if (elapsed_ns)
        sampler->unspent_cpu_ns = 0;
    sampler->pending_count = 0;
    return error;
}

/* The CPU time of the whole process, which the kernel counts up some hundred times a second. */
static int count_cpu(struct dw_sampler *sampler)
{
    clockid_t clock;
    struct timespec now;
    if (clock_getcpuclockid(sampler->target.pid, &clock) || clock_gettime(clock, &now))
        return DW_ERR_ENDED;
    uint64_t cpu_ns = dw_timespec_ns(&now), before_ns = sampler->cpu_ns;
    sampler->cpu_ns = cpu_ns;
    if (!before_ns || cpu_ns == before_ns)
        return sampler->pending_count < MAX_PENDING ? 0 : spend_cpu(sampler);
    sampler->unspent_cpu_ns += cpu_ns - before_ns;
    return spend_cpu(sampler);
}

static int add_samples(struct dw_sampler *sampler, uint64_t now_ns)
{
    bool is_cpu = sampler->log->sampling.mode == DW_SAMPLE_CPU;
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++) {
        struct dw_watched *thread = &sampler->threads[i];
        struct dw_pending_sample sample = {thread->log_thread, thread->state, thread->path, now_ns,
                                           now_ns - thread->last_ns};
        if (!thread->has_stack)
            continue;
        thread->last_ns = now_ns;
        if (!is_cpu)
            error = add_sample(sampler, &sample, sample.elapsed_ns);
        else if (is_running(thread) &&
                 !(error = DW_GROW(sampler->pending, sampler->pending_count,
                                   sampler->pending_capacity)))
            sampler->pending[sampler->pending_count++] = sample;
    }
    return error;
}

static int take_samples(struct dw_sampler *sampler, uint64_t now_ns)
{
    int error = 0;
    if (now_ns - sampler->listed_ns >= LIST_AFTER_NS)
        error = list_threads(sampler, now_ns);
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++)
        error = look_at(sampler, &sampler->threads[i], now_ns);
    if (!error)
        error = add_samples(sampler, now_ns);
    return !error && sampler->log->sampling.mode == DW_SAMPLE_CPU ? count_cpu(sampler) : error;
}

/* After exec, the same process is another program, and perhaps again a Python. */
static int find_again(struct dw_sampler *sampler, uint64_t now_ns)
{
    pid_t pid = sampler->target.pid;
    if (sampler->is_lost && now_ns - sampler->listed_ns < FIND_AFTER_NS)
        return dw_target_is_alive(&sampler->target) ? 0 : DW_ERR_ENDED;
    forget_process(sampler);
    int error = find_process(sampler, pid);
    sampler->target.pid = pid;
    sampler->listed_ns = now_ns;
    sampler->is_lost = error != 0;
    if (error == DW_ERR_MEMORY || error == DW_ERR_PERMISSION)
        return error;
    return error == DW_ERR_NO_PROCESS || error == DW_ERR_ENDED ? DW_ERR_ENDED : 0;
}

int dw_sampler_take(struct dw_sampler *sampler)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    int error = sampler->is_lost ? find_again(sampler, now_ns) : take_samples(sampler, now_ns);
    if (error == DW_ERR_NO_RUNTIME || is_foreign(error))
        error = find_again(sampler, now_ns);
    return error;
}
