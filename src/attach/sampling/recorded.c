/* SPDX-License-Identifier: MIT
 * Opens the file and the sampler of one process. A child is sampled in memory first, so that one
 * which ends at once leaves no file. */
#define _GNU_SOURCE
#include "attach/sampling/recorded.h"

#include "attach/sampling/describe.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NAME.dwell of a child is NAME.PID.dwell. */
static char *path_of_child(const char *path, pid_t pid)
{
    char *made;
    size_t size = strlen(path);
    if (size > 6 && !strcmp(path + size - 6, ".dwell"))
        size -= 6;
    return asprintf(&made, "%.*s.%d.dwell", (int)size, path, (int)pid) < 0 ? NULL : made;
}

static int open_log(struct dw_recorded *process, const struct dw_recording_options *options,
                    const char *path)
{
    int error = path && options->is_path_ours ? dw_log_claim(path) : 0;
    if (!error)
        error = dw_sample_log_open(&process->log, path, options->timeline);
    if (error)
        return error;
    dw_sample_log_read_sources_by(&process->log, &process->sampler->sources.reader);
    process->log.sampling.mode = options->mode;
    process->log.sampling.native = options->native;
    process->log.sampling.period_ns = options->period_ns;
    error = dw_target_describe(&process->sampler->python, &process->log);
    return error || !path ? error : dw_sample_log_flush(&process->log, false);
}

int dw_recorded_open(struct dw_recorded *process, const struct dw_recording_options *options)
{
    int error = dw_sampler_init(process->sampler, process->pid, &process->log);
    if (!error)
        error = open_log(process, options, options->path);
    process->is_open = !error;
    process->sampler->seen = options->seen;
    process->sampler->seen_context = options->seen_context;
    return error;
}

/* Until it becomes another program, a child of vfork has the memory of its parent, with the
 * threads in it; one of fork has it until Python has put things right. */
static bool has_own_threads(struct dw_sampler *sampler)
{
    if (dw_tasks_read(sampler->target.pid, &sampler->tasks))
        return false;
    for (uint32_t i = 0; i < sampler->listed.count; i++)
        if (dw_tasks_find(&sampler->tasks, sampler->listed.threads[i].native_id))
            return true;
    return false;
}

int dw_recorded_open_child(struct dw_recorded *process, const struct dw_recording_options *options)
{
    int error = dw_sampler_init(process->sampler, process->pid, &process->log);
    if (!error && !has_own_threads(process->sampler))
        error = DW_ERR_NO_RUNTIME;
    if (!error)
        error = open_log(process, options, NULL);
    process->is_open = !error;
    return error;
}

int dw_recorded_keep_child(struct dw_recorded *process, const struct dw_recording_options *options)
{
    if (!options->path || process->log.fd >= 0 || dw_sample_log_is_empty(&process->log))
        return 0;
    char *path = path_of_child(options->path, process->pid);
    if (!path)
        return DW_ERR_MEMORY;
    int error = dw_log_claim(path);
    if (!error)
        error = dw_sample_log_move(&process->log, path);
    free(path);
    return error ? error : dw_sample_log_flush(&process->log, false);
}

void dw_recorded_release(struct dw_recorded *process)
{
    dw_sampler_release(process->sampler);
    dw_sample_log_release(&process->log);
    process->is_open = false;
}
