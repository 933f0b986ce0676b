/* SPDX-License-Identifier: MIT
 * A thread is named when it is met, by the kernel until `threading` knows it. That a name has
 * changed is noticed later: looking at all of many threads each time would keep us from
 * sampling. */
#include "attach/sampling/watched.h"

#include "base/clock.h"

#include <string.h>

#define AGAIN_NS 1000000 /* how long threads that have names are looked at, each time */

/* Where the names of an interpreter's threads are; 0: `threading` is not imported. */
struct name_source {
    uint64_t interpreter, active;
};

static uint64_t find_active(struct dw_sampler *sampler, const struct dw_watched *watched,
                            struct name_source *source)
{
    if (watched->live.interpreter != source->interpreter) {
        source->interpreter = watched->live.interpreter;
        if (dw_py_named_threads(&sampler->python, &sampler->names, source->interpreter,
                                &source->active))
            source->active = 0;
    }
    return source->active;
}

static int name_by_kernel(struct dw_sampler *sampler, struct dw_watched *watched)
{
    struct dw_task task;
    watched->is_met = true;
    if (!watched->id || !dw_task_read(sampler->target.pid, watched->id, &task))
        return 0;
    const char *name = watched->id == sampler->target.pid ? DW_MAIN_THREAD_NAME : task.name;
    return dw_ledger_name_thread(sampler->log, watched->log_thread, name, strlen(name));
}

/* A thread that is about to end is unknown to `threading`, and keeps the name it had. */
static int name_thread(struct dw_sampler *sampler, struct dw_watched *watched,
                       struct name_source *source, bool again)
{
    struct dw_buffer *text = &sampler->cache.text;
    uint64_t active = watched->live.state ? find_active(sampler, watched, source) : 0;
    dw_buffer_restart(text);
    if (active &&
        !dw_py_thread_name(&sampler->python, &sampler->names, active, watched->ident, text)) {
        watched->is_met = watched->is_named = true;
        return dw_ledger_name_thread(sampler->log, watched->log_thread, (const char *)text->data,
                                     text->size);
    }
    return watched->is_named || (watched->is_met && !again) ? 0 : name_by_kernel(sampler, watched);
}

int dw_watched_name_new(struct dw_sampler *sampler)
{
    struct name_source source = {0};
    int error = 0;
    dw_thread_names_renew(&sampler->names);
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++)
        if (!sampler->threads[i].is_named)
            error = name_thread(sampler, &sampler->threads[i], &source, false);
    return error;
}

/* All threads at most once, beginning where the time ran out the last time. */
static int name_again(struct dw_sampler *sampler, uint64_t until_ns)
{
    struct name_source source = {0};
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++) {
        if (++sampler->name_next >= sampler->thread_count)
            sampler->name_next = 0;
        error = name_thread(sampler, &sampler->threads[sampler->name_next], &source, true);
        if (dw_clock_ns(CLOCK_MONOTONIC) >= until_ns)
            break;
    }
    return error;
}

int dw_sampler_name_threads(struct dw_sampler *sampler)
{
    int error = dw_watched_name_new(sampler);
    return error ? error : name_again(sampler, dw_clock_ns(CLOCK_MONOTONIC) + AGAIN_NS);
}

int dw_sampler_name_all_threads(struct dw_sampler *sampler)
{
    dw_thread_names_renew(&sampler->names);
    return name_again(sampler, UINT64_MAX);
}
