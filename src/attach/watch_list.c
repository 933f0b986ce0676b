/* SPDX-License-Identifier: MIT */
#include "attach/watched.h"

#include "attach/thread_names.h"
#include "base/grow.h"

#include <string.h>

void dw_watched_release(struct dw_watched *thread)
{
    dw_activity_close(&thread->activity);
    free(thread->known);
    free(thread->cpu.pending);
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
    const char *name = watched->id == sampler->target.pid ? DW_MAIN_THREAD_NAME : task.name;
    return dw_sample_log_name_thread(sampler->log, watched->log_thread, name, strlen(name));
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
    if (!sampler->listed_ns) /* it ran before */
        watched.cpu.counted_ns = dw_activity_cpu_ns(&watched.activity);
    error = dw_sample_log_thread(sampler->log, task ? (uint64_t)task->id : thread->native_id,
                                 &watched.log_thread);
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
        if (!error)
            error = dw_weights_spend_rest(sampler, &watched->cpu);
        dw_watched_release(watched);
    }
    sampler->thread_count = kept;
    return error;
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

int dw_watched_list(struct dw_sampler *sampler, uint64_t now_ns)
{
    bool has_new = false;
    int error = dw_py_threads_read(&sampler->python, &sampler->listed);
    if (error)
        return error;
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        sampler->threads[i].is_listed = sampler->listed.incomplete;
    error = watch_listed(sampler, now_ns, &has_new);
    int trouble = drop_ended(sampler);
    error = error ? error : trouble;
    sampler->listed_ns = now_ns;
    return !error && has_new ? dw_sampler_name_threads(sampler) : error;
}
