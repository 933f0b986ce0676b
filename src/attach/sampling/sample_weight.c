/* SPDX-License-Identifier: MIT
 * A sample's wall time is the time since the last one; in CPU mode, the time that the kernel
 * counted is shared among the samples in which the thread ran. No time is given twice. */
#include "attach/sampling/watched.h"

#include "base/grow.h"
#include "record/samples.h"

#define GAP_NS 2000000           /* longer than this, and than two periods, is a gap */
#define COUNT_AFTER_NS 1000000   /* between looks at what a thread's CPU time is */
#define LOST_CPU_NS 1000000      /* threads that are woken mostly have one sooner than this */
#define MAX_PENDING 65536        /* samples that wait to be told */
#define SHARE_AFTER_NS 250000000 /* the CPU time of so long is shared at once */
#define UNCOUNTED_NS 4000000     /* how much of a turn the kernel may not have counted yet */

static int add_sample(struct dw_sampler *sampler, const struct dw_pending_sample *sample,
                      uint64_t weight_ns)
{
    if (!weight_ns)
        return 0;
    sampler->log->sampling.taken++;
    if (sampler->seen)
        sampler->seen(sampler->seen_context, sample->log_thread, sample->path, sample->state,
                      weight_ns);
    return dw_samples_add(sampler->log, sample->log_thread, sample->path, sample->state,
                          DW_LABELS_NONE, sample->until_ns, weight_ns);
}

static uint64_t seen_ns(const struct dw_cpu_account *account)
{
    uint64_t elapsed_ns = 0;
    for (uint32_t i = 0; i < account->pending_count; i++)
        elapsed_ns += account->pending[i].elapsed_ns;
    return elapsed_ns;
}

static bool has_any_cpu(const struct dw_cpu_account *account)
{
    for (uint32_t i = 0; i < account->pending_count; i++)
        if (account->pending[i].has_cpu && account->pending[i].elapsed_ns)
            return true;
    return false;
}

/* Samples in which the thread had a CPU have all of the time, if there are any: one that is ready
 * without a CPU stands where it lost it, which kernels like to do at the end of system calls. */
static void choose(struct dw_cpu_account *account)
{
    bool is_choice = has_any_cpu(account);
    for (uint32_t i = 0; is_choice && i < account->pending_count; i++)
        if (!account->pending[i].has_cpu)
            account->pending[i].elapsed_ns = 0;
}

/* Shares the time among the samples that wait for it. */
static int spend(struct dw_sampler *sampler, struct dw_cpu_account *account, uint64_t cpu_ns)
{
    choose(account);
    uint64_t elapsed_ns = seen_ns(account);
    int error = 0;
    double share = elapsed_ns ? (double)cpu_ns / (double)elapsed_ns : 0;
    for (uint32_t i = 0; !error && i < account->pending_count; i++)
        error = add_sample(sampler, &account->pending[i],
                           (uint64_t)((double)account->pending[i].elapsed_ns * share));
    account->pending_count = 0;
    return error;
}

/* Where the kernel does not say what a thread's CPU time is, it is the time in which it was seen to
 * run. */
static int spend_seen(struct dw_sampler *sampler, struct dw_cpu_account *account, uint64_t most_ns)
{
    uint64_t elapsed_ns = seen_ns(account);
    return spend(sampler, account, elapsed_ns < most_ns ? elapsed_ns : most_ns);
}

/* The thread may go on without the state that it had; nobody watches what it uses then. */
int dw_weights_spend_rest(struct dw_sampler *sampler, const struct dw_watched *thread)
{
    struct dw_cpu_account *account = thread->cpu;
    uint64_t cpu_ns = dw_activity_cpu_ns(&thread->activity), uncounted_ns = UNCOUNTED_NS;
    if (cpu_ns < account->last_ns) { /* it has ended */
        cpu_ns = account->last_ns;
        uncounted_ns += sampler->log->sampling.period_ns;
    }
    bool is_known = cpu_ns >= account->counted_ns && cpu_ns;
    return spend_seen(sampler, account,
                      is_known ? cpu_ns - account->counted_ns + uncounted_ns : UINT64_MAX);
}

/* A thread that is ready and has no CPU stands where it lost it, which kernels like to do at the
 * end of system calls. That time does not belong to those samples, and is known when it is over. */
static void take_back(struct dw_cpu_account *account, uint64_t queued_ns)
{
    uint64_t left_ns = queued_ns - account->queued_ns;
    left_ns -= account->stopped_ns < left_ns ? account->stopped_ns : left_ns;
    account->queued_ns = queued_ns;
    account->stopped_ns = 0;
    if (left_ns < LOST_CPU_NS)
        return;
    for (uint32_t i = account->pending_count; i-- > 0 && left_ns;) {
        uint64_t *elapsed_ns = &account->pending[i].elapsed_ns;
        uint64_t taken_ns = *elapsed_ns < left_ns ? *elapsed_ns : left_ns;
        *elapsed_ns -= taken_ns;
        left_ns -= taken_ns;
    }
}

/* The samples in which a thread ran have all of its CPU time, that of turns in which it was not
 * seen included: on a busy machine we get to run mostly when it does not. A sample that met a short
 * turn stands for the many short turns that were not met, so the time is that of many turns. The
 * kernel counts it up some hundred times a second and when a turn ends. Of the newest sample it is
 * not known yet whether the thread had a CPU. */
static int count_cpu(struct dw_sampler *sampler, struct dw_watched *thread, uint64_t now_ns)
{
    struct dw_cpu_account *account = thread->cpu;
    if (!account->pending_count || now_ns - account->looked_ns < COUNT_AFTER_NS)
        return 0;
    uint64_t queued_ns, before_ns = account->counted_ns;
    uint64_t cpu_ns = dw_activity_times(&thread->activity, &queued_ns);
    account->looked_ns = now_ns;
    account->last_ns = cpu_ns > account->last_ns ? cpu_ns : account->last_ns;
    if (!cpu_ns || account->pending_count >= MAX_PENDING)
        return spend_seen(sampler, account, UINT64_MAX);
    if (queued_ns > account->queued_ns)
        take_back(account, queued_ns);
    if (cpu_ns <= before_ns || now_ns - account->pending[0].until_ns < SHARE_AFTER_NS ||
        !seen_ns(account))
        return 0;
    account->counted_ns = cpu_ns;
    return spend(sampler, account, cpu_ns - before_ns);
}

static int add_cpu_sample(struct dw_sampler *sampler, struct dw_watched *thread,
                          const struct dw_pending_sample *sample)
{
    struct dw_cpu_account *account = thread->cpu;
    int error = count_cpu(sampler, thread, sample->until_ns);
    if (error || !dw_watched_runs(thread))
        return error;
    if (!account->pending_count)
        dw_activity_times(&thread->activity, &account->queued_ns);
    error = DW_GROW(account->pending, account->pending_count, account->pending_capacity);
    if (!error)
        account->pending[account->pending_count++] = *sample;
    return error;
}

/* While we did not get to run for long the thread went from one stack or state to the other, nobody
 * knows when: each gets half of the time. */
static int add_wall_sample(struct dw_sampler *sampler, const struct dw_watched *thread,
                           const struct dw_pending_sample *sample)
{
    uint64_t elapsed_ns = sample->elapsed_ns;
    if (elapsed_ns < GAP_NS || elapsed_ns < 2 * sampler->log->sampling.period_ns ||
        thread->last_state == DW_NO_STATE ||
        (thread->last_path == thread->path && thread->last_state == thread->state))
        return add_sample(sampler, sample, elapsed_ns);
    struct dw_pending_sample before = *sample;
    before.path = thread->last_path;
    before.state = thread->last_state;
    before.until_ns -= elapsed_ns / 2;
    int error = add_sample(sampler, &before, elapsed_ns / 2);
    return error ? error : add_sample(sampler, sample, elapsed_ns - elapsed_ns / 2);
}

/* In CPU mode a sample stands for a whole period, also when the thread was stopped in it: how long
 * that takes depends on where the thread is, and where it is short would weigh more. */
int dw_weights_add(struct dw_sampler *sampler, uint64_t until_ns)
{
    bool is_cpu = sampler->log->sampling.mode == DW_SAMPLE_CPU;
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++) {
        struct dw_watched *thread = &sampler->threads[i];
        if (!thread->has_stack || thread->is_missed || until_ns <= thread->last_ns)
            continue;
        uint64_t elapsed_ns = until_ns - thread->last_ns;
        if (!is_cpu)
            elapsed_ns -= thread->stopped_ns < elapsed_ns ? thread->stopped_ns : elapsed_ns;
        struct dw_pending_sample sample = {thread->log_thread, thread->state, thread->path,
                                           until_ns,           elapsed_ns,    thread->has_cpu};
        thread->last_ns = until_ns;
        sampler->stopped_ns += thread->stopped_ns;
        thread->cpu->stopped_ns += thread->stopped_ns;
        thread->stopped_ns = 0;
        error = is_cpu ? add_cpu_sample(sampler, thread, &sample)
                       : add_wall_sample(sampler, thread, &sample);
    }
    return error;
}

int dw_sampler_spend_rest(struct dw_sampler *sampler)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++)
        error = dw_weights_spend_rest(sampler, &sampler->threads[i]);
    return error;
}
