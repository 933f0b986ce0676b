/* SPDX-License-Identifier: MIT
 * Finds the Python in a process, lists its threads and looks at each, and starts over when the
 * process becomes another program. */
#include "attach/sampling/sampler.h"

#include "attach/sampling/switches.h"
#include "attach/sampling/watched.h"
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

#define LIST_AFTER_NS 5000000  /* how long the list of threads is believed */
#define FIND_AFTER_NS 20000000 /* between looks for a Python in a new program */
#define END_TRIES 20
#define END_PAUSE_NS 100000

static void forget_process(struct dw_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        dw_watched_release(&sampler->threads[i]);
    sampler->thread_count = 0;
    dw_pointer_map_release(&sampler->rested);
    dw_live_reader_release(&sampler->reader);
    dw_native_code_release(&sampler->native);
    dw_code_cache_release(&sampler->cache);
    dw_call_table_release(&sampler->calls);
    dw_thread_names_release(&sampler->names);
    dw_target_release(&sampler->target);
}

void dw_sampler_release(struct dw_sampler *sampler)
{
    forget_process(sampler);
    free(sampler->threads);
    free(sampler->merged);
    dw_raw_stack_release(&sampler->stack);
    dw_py_threads_release(&sampler->listed);
    dw_tasks_release(&sampler->tasks);
    dw_target_sources_release(&sampler->sources);
    *sampler = (struct dw_sampler){.sources.root = -1};
}

static int find_process(struct dw_sampler *sampler, pid_t pid)
{
    int error = dw_target_open(pid, &sampler->target);
    if (!error)
        error = dw_python_locate(&sampler->target, &sampler->python);
    if (!error)
        error = dw_live_reader_init(&sampler->reader, &sampler->python, DW_SAMPLER_DEPTH);
    if (!error)
        error = dw_py_threads_read(&sampler->python, &sampler->listed);
    return error;
}

int dw_sampler_init(struct dw_sampler *sampler, pid_t pid)
{
    *sampler = (struct dw_sampler){0};
    int error = dw_target_sources_init(&sampler->sources, pid, &sampler->log);
    if (!error)
        error = find_process(sampler, pid);
    return error ? error : dw_raw_stack_init(&sampler->stack, DW_SAMPLER_DEPTH);
}

/* Before all that takes longer than a thread needs to lose its CPU to another. */
static void note_cpus(struct dw_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->thread_count; i++)
        sampler->threads[i].has_cpu = dw_switches_had_cpu(sampler->threads[i].cpu->switches);
}

static int take_samples(struct dw_sampler *sampler, uint64_t now_ns, uint64_t until_ns)
{
    int error = 0;
    note_cpus(sampler);
    if (now_ns - sampler->listed_ns >= LIST_AFTER_NS)
        error = dw_watched_list(sampler, now_ns);
    for (uint32_t i = 0; !error && i < sampler->thread_count; i++)
        error = dw_watched_look(sampler, &sampler->threads[i], now_ns);
    if (error)
        return error;
    dw_watched_choose_runners(sampler);
    return dw_weights_add(sampler, until_ns);
}

/* 0 when the process lives. For a moment it seems to have ended while a thread other than the first
 * becomes another program, and takes over its id. */
static int see_end(const struct dw_target *target)
{
    for (int i = 0; i < END_TRIES; i++) {
        if (dw_target_is_alive(target))
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = END_PAUSE_NS}, NULL);
    }
    return DW_ERR_ENDED;
}

/* After exec, the same process is another program, and perhaps again a Python, whose threads have
 * not been listed yet. */
static int find_again(struct dw_sampler *sampler, uint64_t now_ns)
{
    struct dw_target before = {.pid = sampler->target.pid,
                               .start_ticks = sampler->target.start_ticks};
    if (sampler->is_lost && now_ns - sampler->listed_ns < FIND_AFTER_NS)
        return see_end(&sampler->target);
    int error = dw_sampler_spend_rest(sampler);
    forget_process(sampler);
    if (!error)
        error = find_process(sampler, before.pid);
    if (!sampler->target.pid)
        sampler->target = before;
    sampler->is_lost = error != 0;
    sampler->listed_ns = sampler->is_lost ? now_ns : 0;
    if (error == DW_ERR_MEMORY || error == DW_ERR_PERMISSION)
        return error;
    return error == DW_ERR_NO_PROCESS || error == DW_ERR_ENDED ? see_end(&sampler->target) : 0;
}

/* Errors of reading a process that may have become another program. */
static bool may_be_another(int error)
{
    return error == DW_ERR_NO_RUNTIME || error == DW_ERR_PERMISSION || error == DW_ERR_ENDED ||
           error == DW_ERR_NO_PROCESS || dw_is_foreign(error);
}

int dw_sampler_take(struct dw_sampler *sampler, uint64_t until_ns)
{
    uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
    int error = sampler->is_lost ? 0 : take_samples(sampler, now_ns, until_ns);
    return sampler->is_lost || may_be_another(error) ? find_again(sampler, now_ns) : error;
}
