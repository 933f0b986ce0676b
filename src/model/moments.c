/* SPDX-License-Identifier: MIT
 * Changes are in the order of the log, so a moment is all of them up to its clock. */
#include "model/moments.h"

#include "base/error.h"
#include "base/grow.h"

#include <stdlib.h>

#define SILENCE_NS 1000000000u /* as long may one be silent that did not say that it ends */

int dw_moments_note_row(struct dw_profile *profile, struct dw_thread *thread, uint32_t row,
                        dw_measure_mask mask, const uint64_t *before, const uint64_t *numbers)
{
    profile->processes[thread->process].has_rows_since = true;
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1, numbers++) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        if (!(DW_MASK(measure) & DW_ALIVE_MASK) || *numbers == before[measure])
            continue;
        if (DW_GROW(thread->changes, thread->change_count, thread->change_capacity))
            return DW_ERR_MEMORY;
        thread->changes[thread->change_count++] =
            (struct dw_change){.row = row,
                               .moment = profile->processes[thread->process].moment_count,
                               .measure = measure,
                               .value = *numbers};
    }
    return 0;
}

int dw_moments_note_clock(struct dw_process *process, const struct dw_clock_pair *clock)
{
    const struct dw_clock_pair *epoch = &process->first_clock;
    if (!process->has_rows_since)
        return 0;
    process->has_rows_since = false;
    if (DW_GROW(process->moments_ns, process->moment_count, process->moment_capacity))
        return DW_ERR_MEMORY;
    process->moments_ns[process->moment_count++] =
        epoch->wall_ns + (clock->monotonic_ns - epoch->monotonic_ns);
    return 0;
}

uint64_t dw_moments_start_ns(const struct dw_profile *profile)
{
    uint64_t start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < profile->series_count; i++)
        if (profile->series[i].count && profile->series[i].points[0].time_ns < start_ns)
            start_ns = profile->series[i].points[0].time_ns;
    for (uint32_t i = 0; i < profile->process_count && start_ns == UINT64_MAX; i++)
        if (profile->processes[i].first_clock.wall_ns)
            start_ns = profile->processes[i].first_clock.wall_ns;
    return start_ns;
}

static uint64_t end_of(const struct dw_process *process)
{
    return process->first_clock.wall_ns + dw_process_duration_ns(process);
}

/* Where a process is at the time: so many of its moments are over. What its end found is behind the
 * last. Nothing is left of a process that has ended before. */
static uint32_t moments_until(const struct dw_process *process, uint64_t time_ns)
{
    uint64_t end_ns = end_of(process);
    uint32_t count = 0;
    if (time_ns >= end_ns)
        return time_ns > end_ns + (process->ended ? 0 : SILENCE_NS) ? 0 : UINT32_MAX;
    while (count < process->moment_count && process->moments_ns[count] <= time_ns)
        count++;
    return count;
}

static int go_back(struct dw_thread *thread, uint32_t moments)
{
    struct dw_value_table then = {0};
    int error = 0;
    for (uint32_t i = 0; i < thread->change_count && !error; i++) {
        const struct dw_change *change = &thread->changes[i];
        const struct dw_value_row *row = &thread->values.rows[change->row];
        uint32_t index;
        if (change->moment >= moments)
            break;
        error = dw_value_row_get(&then, row->path, row->labels, &index);
        if (!error)
            error = dw_value_row_set(&then, index, DW_MASK(change->measure), &change->value);
    }
    dw_value_table_release(error ? &then : &thread->values);
    if (error)
        return error;
    thread->values = then;
    thread->timed_count = 0;
    return 0;
}

/* The last moment of any process that is not later than the time; 0: there is none. */
static uint64_t find_moment(const struct dw_profile *profile, uint64_t time_ns)
{
    uint64_t found_ns = 0;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct dw_process *process = &profile->processes[i];
        uint32_t until = moments_until(process, time_ns);
        uint64_t at_ns = until == UINT32_MAX ? end_of(process)
                         : until             ? process->moments_ns[until - 1]
                                             : 0;
        found_ns = at_ns > found_ns ? at_ns : found_ns;
    }
    return found_ns;
}

static uint64_t last_end(const struct dw_profile *profile)
{
    uint64_t end_ns = 0;
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (end_of(&profile->processes[i]) > end_ns)
            end_ns = end_of(&profile->processes[i]);
    return end_ns;
}

static int go_back_all(struct dw_profile *profile, uint64_t time_ns)
{
    bool is_any = false;
    uint32_t *moments = malloc((profile->process_count + 1u) * sizeof *moments);
    int error = moments ? 0 : DW_ERR_MEMORY;
    for (uint32_t i = 0; moments && i < profile->process_count; i++)
        moments[i] = moments_until(&profile->processes[i], time_ns);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++) {
        struct dw_thread *thread = &profile->threads[i];
        error = go_back(thread, moments[thread->process]);
        is_any |= thread->values.count;
    }
    free(moments);
    return error || is_any ? error : DW_ERR_NO_SAMPLES;
}

int dw_profile_go_to(struct dw_profile *profile, uint64_t since_start_ns)
{
    uint64_t start_ns = dw_moments_start_ns(profile), end_ns = last_end(profile);
    uint64_t time_ns = since_start_ns < end_ns - start_ns ? start_ns + since_start_ns : end_ns;
    uint64_t moment_ns = find_moment(profile, time_ns);
    for (uint32_t i = 0; i < profile->process_count; i++)
        profile->processes[i].is_sampled = false;
    profile->lines.count = 0;
    profile->is_of_moment = true;
    profile->moment_ns = moment_ns > start_ns ? moment_ns - start_ns : 0;
    return go_back_all(profile, time_ns);
}
