/* SPDX-License-Identifier: MIT
 * Python's list of thread states is brought together with the kernel's threads, of which those that
 * Python does not know have native frames only. A thread of the system keeps its row in the log
 * however often its state changes. */
#include "attach/sampling/watched.h"

#include "attach/sampling/switches.h"
#include "base/grow.h"

#define RESTED_IS_NAMED ((uint64_t)1 << 32) /* a flag beside the number of the log's thread */

static void leave_account(struct dw_cpu_account *account)
{
    if (--account->users)
        return;
    dw_switches_close(account->switches);
    free(account->pending);
    free(account);
}

void dw_watched_release(struct dw_watched *thread)
{
    dw_activity_close(&thread->activity);
    free(thread->known);
    leave_account(thread->cpu);
}

static bool is_of(const struct dw_watched *watched, const struct dw_py_thread *thread)
{
    return watched->live.state == thread->state && watched->ident == thread->ident &&
           watched->live.native_id == thread->native_id;
}

/* Threads are listed in the order in which they are watched, mostly: each is looked for first at
 * `*next`, behind the one before. */
static struct dw_watched *find_watched(const struct dw_sampler *sampler,
                                       const struct dw_py_thread *thread, uint32_t *next)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        uint32_t at =
            *next + i < sampler->thread_count ? *next + i : *next + i - sampler->thread_count;
        if (is_of(&sampler->threads[at], thread)) {
            *next = at + 1 < sampler->thread_count ? at + 1 : 0;
            return &sampler->threads[at];
        }
    }
    return NULL;
}

/* Another state of the same living thread of the system, or one that has just ended. The id alone
 * does not tell: a later thread may have it. */
static struct dw_watched *find_same_task(const struct dw_sampler *sampler, pid_t id)
{
    for (uint32_t i = 0; id && i < sampler->thread_count; i++)
        if (sampler->threads[i].id == id && dw_activity_cpu_ns(&sampler->threads[i].activity))
            return &sampler->threads[i];
    return NULL;
}

/* What the thread has used before we could see this state of it. One that used more than the time
 * since the threads were listed last is older than its state, which has lived for half of that time
 * on average. */
static uint64_t cpu_before_ns(const struct dw_sampler *sampler, const struct dw_watched *watched,
                              uint64_t now_ns)
{
    uint64_t cpu_ns = dw_activity_cpu_ns(&watched->activity);
    uint64_t unseen_ns = now_ns - sampler->listed_ns;
    if (!sampler->listed_ns)
        return cpu_ns;
    return cpu_ns > unseen_ns ? cpu_ns - unseen_ns / 2 : 0;
}

static int join_account(const struct dw_sampler *sampler, struct dw_watched *watched,
                        uint64_t now_ns)
{
    struct dw_watched *same = find_same_task(sampler, watched->id);
    watched->cpu = same ? same->cpu : calloc(1, sizeof *watched->cpu);
    if (!watched->cpu)
        return DW_ERR_MEMORY;
    watched->cpu->users++;
    if (same)
        return 0;
    watched->cpu->counted_ns = cpu_before_ns(sampler, watched, now_ns);
    if (watched->id && sampler->log->sampling.mode == DW_SAMPLE_CPU)
        watched->cpu->switches = dw_switches_open(watched->id);
    return 0;
}

/* The kernel's id here of a thread, 0 when it has none. Unless the process has a PID namespace of
 * its own that is what Python has; if not, all threads have to be read, once for all new ones. */
static pid_t find_id(struct dw_sampler *sampler, uint64_t native_id, bool *has_tasks)
{
    struct dw_task task;
    pid_t pid = sampler->target.pid;
    if (dw_task_read(pid, (pid_t)native_id, &task) && task.inner_id == native_id)
        return task.id;
    if (!*has_tasks)
        dw_tasks_read(pid, &sampler->tasks);
    *has_tasks = true;
    const struct dw_task *found = dw_tasks_find(&sampler->tasks, native_id);
    return found ? found->id : 0;
}

/* What no other thread has: its id, of at most 22 bits, and when it began. */
static const void *birth_of(pid_t pid, pid_t id)
{
    uint64_t start_ticks = id ? dw_task_start_ticks(pid, id) : 0;
    return start_ticks ? (const void *)(uintptr_t)(start_ticks << 22 | (uint64_t)id) : NULL;
}

/* A thread that Python does not know, until a state of it takes over. */
static bool is_unknown(const struct dw_watched *watched)
{
    return !watched->live.state && watched->birth;
}

/* A state takes over from the one before or from none, and none from a state: without a gap, since
 * the thread was watched all the time then. */
static void take_over(struct dw_watched *watched, struct dw_watched *before)
{
    watched->log_thread = before->log_thread;
    watched->is_named = before->is_named;
    if (!watched->live.state || !before->live.state)
        watched->last_ns = before->last_ns;
    before->is_listed = false;
    before->birth = NULL;
}

/* A native thread that calls Python has another state for each call, and stays one thread. */
static int enter_log(struct dw_sampler *sampler, struct dw_watched *watched)
{
    uint64_t rested;
    struct dw_watched *before = find_same_task(sampler, watched->id);
    if (before && before->birth == watched->birth && (!before->is_listed || is_unknown(before))) {
        take_over(watched, before);
        return 0;
    }
    if (watched->birth && dw_pointer_map_take(&sampler->rested, watched->birth, &rested)) {
        watched->log_thread = (uint32_t)rested;
        watched->is_named = rested & RESTED_IS_NAMED;
        return 0;
    }
    uint64_t id = watched->id ? (uint64_t)watched->id : watched->live.native_id;
    return dw_ledger_thread(sampler->log, 1, id, &watched->log_thread);
}

static void leave_log(struct dw_sampler *sampler, const struct dw_watched *watched)
{
    uint64_t other; /* that it had for another interpreter */
    if (!watched->birth)
        return;
    dw_pointer_map_take(&sampler->rested, watched->birth, &other);
    dw_pointer_map_put(&sampler->rested, watched->birth,
                       watched->log_thread | (watched->is_named ? RESTED_IS_NAMED : 0));
}

/* Its first sample stands for half of the time since the threads were listed last: that is
 * how long it has lived on average. */
static int watch(struct dw_sampler *sampler, const struct dw_py_thread *thread, pid_t id,
                 uint64_t now_ns)
{
    uint64_t unseen_ns = sampler->listed_ns ? (now_ns - sampler->listed_ns) / 2 : 0;
    int error = DW_GROW(sampler->threads, sampler->thread_count, sampler->thread_capacity);
    if (error)
        return error;
    struct dw_watched watched = {.live = {.state = thread->state,
                                          .interpreter = thread->interpreter,
                                          .gil = thread->gil,
                                          .native_id = thread->native_id},
                                 .ident = thread->ident,
                                 .id = id,
                                 .birth = birth_of(sampler->target.pid, id),
                                 .activity = {.syscall_fd = -1, .turns_fd = -1},
                                 .is_listed = true,
                                 .has_cpu = true, /* as far as is known */
                                 .last_ns = now_ns - unseen_ns};
    if (id)
        dw_activity_open(sampler->target.pid, id, &watched.activity);
    if (!thread->state && (!watched.birth || watched.activity.turns_fd < 0)) {
        dw_activity_close(&watched.activity);
        return 0; /* it has just ended, or there are no more files for us */
    }
    error = join_account(sampler, &watched, now_ns);
    if (error) {
        dw_activity_close(&watched.activity);
        return error;
    }
    error = enter_log(sampler, &watched);
    if (error)
        dw_watched_release(&watched);
    else
        sampler->threads[sampler->thread_count++] = watched;
    return error;
}

/* Takes the threads that ended off the list. */
static int drop_ended(struct dw_sampler *sampler)
{
    uint32_t kept = 0;
    int error = 0;
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        struct dw_watched *watched = &sampler->threads[i];
        if (watched->is_listed) {
            sampler->threads[kept++] = *watched;
            continue;
        }
        if (!error && watched->cpu->users == 1)
            error = dw_weights_spend_rest(sampler, watched);
        leave_log(sampler, watched);
        dw_watched_release(watched);
    }
    sampler->thread_count = kept;
    return error;
}

/* Marks the threads that are watched. The others are at the end of the list then, as many as it
 * returns; without those that are just being made and have no id. */
static uint32_t mark_watched(struct dw_sampler *sampler)
{
    struct dw_py_threads *listed = &sampler->listed;
    uint32_t next = 0, others = 0;
    for (uint32_t i = listed->count; i--;) {
        struct dw_watched *watched = find_watched(sampler, &listed->threads[i], &next);
        if (watched)
            watched->is_listed = true;
        else if (listed->threads[i].native_id)
            listed->threads[listed->count - ++others] = listed->threads[i];
    }
    return others;
}

/* CPython puts new threads at the front: from the back, the main thread comes first. */
static int watch_listed(struct dw_sampler *sampler, uint64_t now_ns, bool *has_new)
{
    bool has_tasks = false;
    int error = 0;
    uint32_t others = mark_watched(sampler), at = sampler->listed.count;
    *has_new = others > 0;
    for (; !error && others; others--) {
        const struct dw_py_thread *thread = &sampler->listed.threads[--at];
        error = watch(sampler, thread, find_id(sampler, thread->native_id, &has_tasks), now_ns);
    }
    return error;
}

/* What is watched of a thread of the system: a state that is listed, or the living thread without
 * one. It is looked for first at `*next`. */
static struct dw_watched *find_task(const struct dw_sampler *sampler, pid_t id, uint32_t *next)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++) {
        uint32_t at = (*next + i) % sampler->thread_count;
        struct dw_watched *watched = &sampler->threads[at];
        if (watched->id != id)
            continue;
        if (watched->is_listed || (is_unknown(watched) && dw_activity_lives(&watched->activity))) {
            *next = at + 1;
            return watched;
        }
    }
    return NULL;
}

/* For a round in which the system does not say which threads there are. */
static void keep_unknown(struct dw_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        sampler->threads[i].is_listed |= is_unknown(&sampler->threads[i]);
}

/* The threads that Python does not know, such as those of OpenMP. */
static int watch_unknown(struct dw_sampler *sampler, uint64_t now_ns, bool *has_new)
{
    uint32_t next = 0;
    int error = dw_tasks_list(sampler->target.pid, &sampler->tasks);
    if (error == DW_ERR_ENDED)
        keep_unknown(sampler);
    for (uint32_t i = 0; !error && i < sampler->tasks.count; i++) {
        pid_t id = sampler->tasks.tasks[i].id;
        struct dw_watched *watched = find_task(sampler, id, &next);
        if (watched) {
            watched->is_listed = true;
            continue;
        }
        error = watch(sampler, &(struct dw_py_thread){.native_id = (uint64_t)id}, id, now_ns);
        *has_new = true;
    }
    return error == DW_ERR_ENDED ? 0 : error;
}

int dw_watched_list(struct dw_sampler *sampler, uint64_t now_ns)
{
    bool has_new = false;
    int error = dw_py_threads_read(&sampler->python, &sampler->listed);
    if (error)
        return error;
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        sampler->threads[i].is_listed = sampler->listed.incomplete;
    error = watch_listed(sampler, now_ns, &has_new);
    if (!error && sampler->log->sampling.native && !sampler->listed.incomplete)
        error = watch_unknown(sampler, now_ns, &has_new);
    int trouble = drop_ended(sampler);
    error = error ? error : trouble;
    sampler->listed_ns = now_ns;
    return !error && has_new ? dw_watched_name_new(sampler) : error;
}
