/* SPDX-License-Identifier: MIT
 * Opens the file and the sampler of one process. A child is sampled in memory first, so that one
 * which ends at once leaves no file. */
#include "attach/sampling/recorded.h"

#include "attach/sampling/describe.h"
#include "base/error.h"
#include "log/log_name.h"
#include "record/samples.h"

#include <limits.h>
#include <stdio.h>

static int open_log(struct dw_recorded *process, const struct dw_recording_options *options,
                    const struct dw_ledger_options *file)
{
    int error = dw_ledger_open(file, &process->log);
    if (error)
        return error;
    process->sampler->log = process->log;
    process->log->timeline = options->timeline;
    process->log->sampling = (struct dw_sampling){
        .mode = options->mode,
        .native = options->native,
        .period_ns = options->period_ns,
    };
    return dw_target_describe(&process->sampler->python, process->log);
}

int dw_recorded_flush(struct dw_recorded *process)
{
    return dw_ledger_flush(process->log, dw_samples_collect, NULL, false);
}

int dw_recorded_open(struct dw_recorded *process, const struct dw_recording_options *options)
{
    int error = dw_sampler_init(process->sampler, process->pid);
    struct dw_ledger_options file = {
        .path = options->path,
        .is_name_ours = options->path && options->is_path_ours,
        .is_quiet = true,
        .source_reader = &process->sampler->sources.reader,
    };
    if (!error)
        error = open_log(process, options, &file);
    if (!error && options->path)
        error = dw_recorded_flush(process);
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
    char path[PATH_MAX] = "";
    int error = dw_sampler_init(process->sampler, process->pid);
    if (!error && !has_own_threads(process->sampler))
        error = DW_ERR_NO_RUNTIME;
    if (!error && options->path) {
        snprintf(path, sizeof path, "%s", options->path);
        error = dw_log_name_child(path, sizeof path, dw_log_stem_size(path), process->pid, 1);
    }
    struct dw_ledger_options file = {
        .path = *path ? path : NULL,
        .is_late = true,
        .is_name_ours = *path,
        .is_quiet = true,
        .source_reader = &process->sampler->sources.reader,
    };
    if (!error)
        error = open_log(process, options, &file);
    process->is_open = !error;
    return error;
}

int dw_recorded_end(struct dw_recorded *process)
{
    return dw_ledger_flush_end(process->log, dw_samples_collect, NULL);
}

bool dw_recorded_has_file(const struct dw_recorded *process)
{
    return process->log && process->log->path && !dw_ledger_is_late(process->log);
}

int dw_recorded_keep_child(struct dw_recorded *process)
{
    if (!process->log->path || !dw_ledger_is_late(process->log) ||
        dw_samples_are_none(process->log))
        return 0;
    return dw_recorded_flush(process);
}

void dw_recorded_release(struct dw_recorded *process)
{
    dw_sampler_release(process->sampler);
    dw_ledger_release(process->log);
    process->log = NULL;
    process->is_open = false;
}
