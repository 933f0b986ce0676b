/* SPDX-License-Identifier: MIT
 * One loop does what is due: samples, the search for children, the flush of files. A process that
 * ends, or cannot be read, never ends the recording of the others. */
#include "attach/sampling/recording.h"

#include "attach/sampling/pace.h"
#include "attach/sampling/recorded.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "record/probes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#define CHILDREN_EVERY_NS 50000000
#define MAX_PROCESSES 1024
#define TRY_AT_LEAST_NS 1000000000 /* how rarely a child that does not run Python is looked at */
#define PAUSE_NS 5000000           /* between tries: a Python takes some of these to start */

/* A place in the array: that of a child that ended, or a new one. */
static struct dw_recorded *find_room(struct dw_recording *recording)
{
    for (uint32_t i = 1; i < recording->count; i++)
        if (recording->processes[i].has_ended && !recording->processes[i].is_open)
            return &recording->processes[i];
    if (recording->count == MAX_PROCESSES ||
        DW_GROW(recording->processes, recording->count, recording->capacity))
        return NULL;
    struct dw_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return NULL;
    recording->processes[recording->count] = (struct dw_recorded){.sampler = sampler};
    return &recording->processes[recording->count++];
}

/* False when there is no room for it. */
static bool add_process(struct dw_recording *recording, pid_t pid)
{
    struct dw_recorded *process = find_room(recording);
    if (!process)
        return false;
    *process = (struct dw_recorded){
        .pid = pid, .sampler = process->sampler, .delay_ns = CHILDREN_EVERY_NS};
    return true;
}

static int try_to_begin(struct dw_recording *recording, const struct dw_recording_options *options)
{
    *recording = (struct dw_recording){.options = *options};
    int error = add_process(recording, options->pid)
                    ? dw_recorded_open(recording->processes, options)
                    : DW_ERR_MEMORY;
    recording->begun_ns = recording->period_start_ns = recording->next_ns = recording->chance =
        dw_clock_ns(CLOCK_MONOTONIC);
    recording->flush_ns = recording->begun_ns + DW_FLUSH_NS;
    return error;
}

/* A process that was started a moment ago may still be the shell, or a Python that is starting. */
static bool may_settle(int error)
{
    return error == DW_ERR_NOT_PYTHON || error == DW_ERR_NO_RUNTIME || error == DW_ERR_UNREADABLE ||
           error == DW_ERR_DAMAGED;
}

/* Each thread takes two files, each process one. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int dw_recording_begin(struct dw_recording *recording, const struct dw_recording_options *options,
                       uint64_t patience_ns)
{
    uint64_t begun_ns = dw_clock_ns(CLOCK_MONOTONIC);
    dw_pace_begin(options->period_ns);
    allow_many_files();
    int error = try_to_begin(recording, options);
    while (may_settle(error) && dw_clock_ns(CLOCK_MONOTONIC) - begun_ns < patience_ns) {
        dw_recording_release(recording);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        error = try_to_begin(recording, options);
    }
    return error;
}

void dw_recording_release(struct dw_recording *recording)
{
    for (uint32_t i = 0; i < recording->count; i++) {
        dw_recorded_release(&recording->processes[i]);
        free(recording->processes[i].sampler);
    }
    free(recording->processes);
    *recording = (struct dw_recording){0};
}

static bool is_recorded(const struct dw_recording *recording, pid_t pid)
{
    for (uint32_t i = 0; i < recording->count; i++)
        if (recording->processes[i].pid == pid && !recording->processes[i].has_ended)
            return true;
    return false;
}

/* Asked after a call that failed: it is tried again later, since other processes may end
 * meanwhile. */
static bool lacks_files(struct dw_recording *recording)
{
    bool is_so = errno == EMFILE || errno == ENFILE;
    recording->lacks_files |= is_so;
    return is_so;
}

/* Reads the children of one thread; those that are new are tried later. */
static void add_children_of_thread(struct dw_recording *recording, pid_t pid, const char *thread)
{
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (!file) {
        lacks_files(recording);
        return;
    }
    while (fscanf(file, "%d", &child) == 1)
        if (!is_recorded(recording, child) && !add_process(recording, child))
            break;
    fclose(file);
}

static void add_children_of(struct dw_recording *recording, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads) {
        lacks_files(recording);
        return;
    }
    for (struct dirent *entry; (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            add_children_of_thread(recording, pid, entry->d_name);
    closedir(threads);
}

static bool is_final(int error)
{
    return error == DW_ERR_NO_PROCESS || error == DW_ERR_ENDED || error == DW_ERR_PERMISSION ||
           error == DW_ERR_PYTHON_VERSION;
}

/* A child that does not run Python is looked at again, more and more rarely: it may come to, and so
 * may its children. */
static int try_child(struct dw_recording *recording, struct dw_recorded *process, uint64_t now_ns)
{
    int error = dw_recorded_open_child(process, &recording->options);
    if (!error)
        return 0;
    if (error == DW_ERR_IO && lacks_files(recording))
        error = 0;
    process->has_ended = is_final(error);
    process->try_ns = now_ns + process->delay_ns;
    process->delay_ns =
        process->delay_ns < TRY_AT_LEAST_NS ? 2 * process->delay_ns : TRY_AT_LEAST_NS;
    dw_recorded_release(process);
    return error == DW_ERR_MEMORY || error == DW_ERR_IO ? error : 0;
}

static int open_children(struct dw_recording *recording, uint64_t now_ns)
{
    int error = 0;
    for (uint32_t i = 1; !error && i < recording->count; i++) {
        struct dw_recorded *process = &recording->processes[i];
        if (!process->is_open && !process->has_ended && now_ns >= process->try_ns)
            error = try_child(recording, process, now_ns);
    }
    return error;
}

static int follow_children(struct dw_recording *recording, uint64_t now_ns)
{
    uint32_t count = recording->count;
    for (uint32_t i = 0; i < count; i++)
        if (!recording->processes[i].has_ended)
            add_children_of(recording, recording->processes[i].pid);
    return open_children(recording, now_ns);
}

static void add_numbers(struct dw_recording_numbers *numbers, const struct dw_recorded *process)
{
    if (!process->log)
        return;
    const struct dw_sampling *sampling = &process->log->sampling;
    numbers->taken += sampling->taken;
    numbers->retried += sampling->retried;
    numbers->missed += sampling->missed;
    numbers->stops += process->sampler->stops;
    numbers->stopped_ns += process->sampler->stopped_ns;
}

/* A child that ended leaves only its numbers. The process that was asked for stays, for its numbers
 * and names. */
static void forget_child(struct dw_recording *recording, struct dw_recorded *process)
{
    recording->ended_files += dw_recorded_has_file(process);
    add_numbers(&recording->ended, process);
    dw_recorded_release(process);
}

static int end_process(struct dw_recording *recording, struct dw_recorded *process)
{
    process->has_ended = true;
    bool is_child = process != recording->processes;
    int error = dw_sampler_spend_rest(process->sampler);
    if (!error && is_child)
        error = dw_recorded_keep_child(process);
    if (error == DW_ERR_IO && lacks_files(recording))
        error = 0;
    if (!error && dw_recorded_has_file(process))
        error = dw_recorded_end(process);
    int number = errno;
    if (is_child)
        forget_child(recording, process);
    errno = number;
    return error;
}

/* What became of a process when it was sampled. A child that runs with other privileges may become
 * one that can be read; when the process that was asked for does, somebody should be told. */
static int settle(struct dw_recording *recording, struct dw_recorded *process, int error)
{
    bool is_first = process == recording->processes;
    if (!error && !is_first)
        error = dw_recorded_keep_child(process);
    if (error == DW_ERR_PERMISSION && !is_first)
        return 0;
    if (error == DW_ERR_IO && lacks_files(recording))
        return 0;
    recording->is_barred |= error == DW_ERR_PERMISSION;
    return error == DW_ERR_ENDED || error == DW_ERR_NO_PROCESS || error == DW_ERR_PERMISSION
               ? end_process(recording, process)
               : error;
}

static int take(struct dw_recording *recording)
{
    uint64_t period_ns = recording->options.period_ns;
    uint64_t until_ns =
        period_ns ? recording->period_start_ns + period_ns : dw_clock_ns(CLOCK_MONOTONIC);
    uint32_t alive = 0;
    for (uint32_t i = 0; i < recording->count; i++) {
        struct dw_recorded *process = &recording->processes[i];
        if (!process->is_open || process->has_ended)
            continue;
        int error = dw_sampler_take(process->sampler, until_ns);
        process->rounds++;
        error = settle(recording, process, error);
        alive += !process->has_ended;
        if (error)
            return error;
    }
    recording->is_over = !alive;
    return 0;
}

static int flush(struct dw_recording *recording)
{
    for (uint32_t i = 0; i < recording->count; i++) {
        struct dw_recorded *process = &recording->processes[i];
        if (!process->is_open || process->has_ended)
            continue;
        int error = process->sampler->is_lost ? 0 : dw_sampler_name_threads(process->sampler);
        if (!error && dw_recorded_has_file(process))
            error = dw_recorded_flush(process);
        if (error)
            return error;
    }
    return 0;
}

/* The moment of the next sample: somewhere in the next period, by chance, since there is a program
 * that keeps step with any other rule. Samples that should have been taken meanwhile are missed:
 * the next one stands for their time too. */
static void schedule(struct dw_recording *recording, uint64_t now_ns)
{
    uint64_t period_ns = recording->options.period_ns;
    if (!period_ns) {
        recording->next_ns = now_ns;
        return;
    }
    recording->period_start_ns += period_ns;
    recording->is_behind = false;
    if (recording->period_start_ns < now_ns) {
        uint64_t missed = (now_ns - recording->period_start_ns) / period_ns;
        recording->period_start_ns += missed * period_ns;
        recording->processes[0].log->sampling.missed += missed;
        recording->is_behind = missed != 0;
    }
    recording->chance = dw_hash_mix(recording->chance + 1);
    recording->next_ns = recording->period_start_ns + recording->chance % period_ns;
}

static int do_what_is_due(struct dw_recording *recording, uint64_t now_ns)
{
    int error = 0;
    if (recording->options.subprocesses && now_ns >= recording->children_ns) {
        error = follow_children(recording, now_ns);
        recording->children_ns = now_ns + CHILDREN_EVERY_NS;
    }
    if (!error && now_ns >= recording->flush_ns) {
        error = flush(recording);
        recording->flush_ns = now_ns + DW_FLUSH_NS;
    }
    return error;
}

int dw_recording_run(struct dw_recording *recording, uint64_t until_ns, const volatile int *stop)
{
    int error = 0;
    while (!error && !*stop && !recording->is_over) {
        if (recording->next_ns >= until_ns) {
            dw_pace_wait(until_ns, UINT64_MAX);
            break;
        }
        dw_pace_wait(recording->next_ns, recording->options.period_ns);
        if (*stop)
            break;
        error = take(recording);
        uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
        if (!error)
            error = do_what_is_due(recording, now_ns);
        schedule(recording, now_ns);
    }
    recording->ended_ns = dw_clock_ns(CLOCK_MONOTONIC);
    return error;
}

static int name_and_end(struct dw_recording *recording, struct dw_recorded *process)
{
    int error = process->sampler->is_lost ? 0 : dw_sampler_name_all_threads(process->sampler);
    int trouble = end_process(recording, process);
    return error ? error : trouble;
}

/* No later sample stands for the time of those missed at the end, so they are counted here:
 * otherwise a recording with a single round would seem to have all that were asked for. */
static int take_missed(struct dw_recording *recording)
{
    uint64_t period_ns = recording->options.period_ns;
    if (period_ns && recording->ended_ns >= recording->period_start_ns + period_ns)
        schedule(recording, recording->ended_ns);
    return recording->is_behind && !recording->is_over ? take(recording) : 0;
}

int dw_recording_end(struct dw_recording *recording)
{
    int error = take_missed(recording);
    for (uint32_t i = 0; i < recording->count; i++) {
        struct dw_recorded *process = &recording->processes[i];
        int trouble =
            process->is_open && !process->has_ended ? name_and_end(recording, process) : 0;
        error = error ? error : trouble;
    }
    return error;
}

const struct dw_sampler *dw_recording_sampler(const struct dw_recording *recording)
{
    return recording->processes[0].sampler;
}

uint32_t dw_recording_file_count(const struct dw_recording *recording)
{
    uint32_t count = recording->ended_files;
    for (uint32_t i = 0; i < recording->count; i++)
        count += dw_recorded_has_file(&recording->processes[i]);
    return count;
}

struct dw_ledger *dw_recording_log(struct dw_recording *recording, uint32_t process)
{
    return recording->processes[process].log;
}

struct dw_recording_numbers dw_recording_numbers(const struct dw_recording *recording)
{
    struct dw_recording_numbers numbers = recording->ended;
    for (uint32_t i = 0; i < recording->count; i++)
        add_numbers(&numbers, &recording->processes[i]);
    numbers.rounds = recording->processes[0].rounds;
    double seconds = (double)(recording->ended_ns - recording->begun_ns) / 1e9;
    numbers.rate_hz = seconds > 0 ? (double)numbers.rounds / seconds : 0;
    return numbers;
}
