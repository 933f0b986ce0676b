/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/watched.h"

#include "base/clock.h"
#include "base/grow.h"

#include <time.h>

#define MAX_PENDING 65536
#define GAP_NS 2000000 /* longer than this, and than two periods, is a gap */

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
                             sample->until_ns, weight_ns);
}

/* The CPU time is shared out among the samples since it was known last, but none gets more
 * than the time that it stands for: the rest is that of threads that Python does not know. As much
 * as one more such share is kept for the next samples, since samples are not taken at the very
 * moments until which they stand. */
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
    if (elapsed_ns) {
        sampler->unspent_cpu_ns -= (uint64_t)((double)elapsed_ns * share);
        if (sampler->unspent_cpu_ns > elapsed_ns)
            sampler->unspent_cpu_ns = elapsed_ns;
    }
    sampler->pending_count = 0;
    return error;
}

/* The CPU time of the whole process, which the kernel counts up some hundred times a second. */
int dw_weights_count_cpu(struct dw_sampler *sampler)
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

/* While we did not get to run for long the thread went from one stack to the other, nobody knows
 * when: each gets half of the time. */
static int add_wall_sample(struct dw_sampler *sampler, const struct dw_watched *thread,
                           const struct dw_pending_sample *sample)
{
    uint64_t elapsed_ns = sample->elapsed_ns;
    if (elapsed_ns < GAP_NS || elapsed_ns < 2 * sampler->log->sampling.period_ns ||
        thread->last_state == DW_NO_STATE || thread->last_path == thread->path)
        return add_sample(sampler, sample, elapsed_ns);
    struct dw_pending_sample before = *sample;
    before.path = thread->last_path;
    before.state = thread->last_state;
    before.until_ns -= elapsed_ns / 2;
    int error = add_sample(sampler, &before, elapsed_ns / 2);
    return error ? error : add_sample(sampler, sample, elapsed_ns - elapsed_ns / 2);
}

int dw_weights_add(struct dw_sampler *sampler, uint64_t until_ns)
{
    bool is_cpu = sampler->log->sampling.mode == DW_SAMPLE_CPU;
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++) {
        struct dw_watched *thread = &sampler->threads[i];
        if (!thread->has_stack || until_ns <= thread->last_ns)
            continue;
        uint64_t elapsed_ns = until_ns - thread->last_ns;
        elapsed_ns -= thread->stopped_ns < elapsed_ns ? thread->stopped_ns : elapsed_ns;
        struct dw_pending_sample sample = {thread->log_thread, thread->state, thread->path,
                                           until_ns, elapsed_ns};
        thread->last_ns = until_ns;
        sampler->stopped_ns += thread->stopped_ns;
        thread->stopped_ns = 0;
        if (!is_cpu)
            error = add_wall_sample(sampler, thread, &sample);
        else if (dw_watched_runs(thread) &&
                 !(error = DW_GROW(sampler->pending, sampler->pending_count,
                                   sampler->pending_capacity)))
            sampler->pending[sampler->pending_count++] = sample;
    }
    return error;
}
