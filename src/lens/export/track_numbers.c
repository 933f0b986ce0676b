/* SPDX-License-Identifier: MIT
 * Whoever comes first keeps its number; those that claim the same one later get numbers that nobody
 * has. */
#include "lens/export/track_numbers.h"

#include "base/error.h"
#include "lens/export/slice_walk.h"
#include "lens/view/roster.h"

#include <stdlib.h>

#define FREE_NUMBERS (1u << 22) /* above every pid and tid of Linux */

/* An owner of a number: a process, or a thread within a process. */
struct claim {
    uint64_t group, number;
    uint32_t rank; /* who comes first keeps the number */
    uint32_t owner;
};

static int compare_claims(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A number above those of Linux, and above any in use. */
static uint64_t raise(uint64_t next, uint64_t number)
{
    next = number >= next && number < UINT32_MAX ? number + 1 : next;
    return next < FREE_NUMBERS ? FREE_NUMBERS : next;
}

/* The second and later claims get numbers that nobody has. */
static void settle(struct claim *claims, uint32_t count, uint64_t *numbers)
{
    qsort(claims, count, sizeof *claims, compare_claims);
    uint64_t next = 0;
    for (uint32_t i = 0; i < count; i++)
        next = raise(next, claims[i].number);
    for (uint32_t i = 0; i < count; i++) {
        const struct claim *claim = &claims[i];
        bool taken = i && claim->group == claim[-1].group && claim->number == claim[-1].number;
        numbers[claim->owner] = taken ? next++ : claim->number;
    }
}

static int settle_pids(const struct dw_profile *profile, struct dw_track_numbers *numbers)
{
    uint32_t count = profile->process_count;
    uint32_t *order = NULL;
    struct claim *claims = malloc((count + 1u) * sizeof *claims);
    numbers->pids = malloc((count + 1u) * sizeof *numbers->pids);
    int error = claims && numbers->pids ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = dw_roster_processes(profile, &order);
    for (uint32_t i = 0; !error && i < count; i++)
        claims[i] = (struct claim){0, profile->processes[order[i]].pid, i, order[i]};
    if (!error)
        settle(claims, count, numbers->pids);
    free(order);
    free(claims);
    return error;
}

static int settle_tids(const struct dw_profile *profile, struct dw_track_numbers *numbers)
{
    uint32_t count = profile->thread_count;
    uint32_t *order = NULL;
    struct claim *claims = malloc((count + 1u) * sizeof *claims);
    numbers->tids = malloc((count + 1u) * sizeof *numbers->tids);
    int error = claims && numbers->tids ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = dw_roster_threads(profile, &order);
    for (uint32_t i = 0; !error && i < count; i++) {
        const struct dw_thread *thread = &profile->threads[order[i]];
        claims[i] = (struct claim){thread->process, thread->tid, i, order[i]};
    }
    if (!error)
        settle(claims, count, numbers->tids);
    free(order);
    free(claims);
    return error;
}

bool dw_tracks_can(const struct dw_profile *profile, const struct dw_lens_options *options)
{
    return (profile->block_count && dw_tracks_have_events(options)) ||
           (dw_slice_walk_can(profile) && dw_tracks_have_samples(options));
}

bool dw_thread_needs_two_tracks(const struct dw_thread *thread)
{
    return thread->block_count && thread->timed_count;
}

static int settle_sample_tids(const struct dw_profile *profile, struct dw_track_numbers *numbers)
{
    uint64_t next = 0;
    numbers->sample_tids = malloc((profile->thread_count + 1u) * sizeof *numbers->sample_tids);
    if (!numbers->sample_tids)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        next = raise(next, numbers->tids[i]);
    for (uint32_t i = 0; i < profile->thread_count; i++)
        numbers->sample_tids[i] =
            dw_thread_needs_two_tracks(&profile->threads[i]) ? next++ : numbers->tids[i];
    return 0;
}

int dw_track_numbers_make(const struct dw_profile *profile, struct dw_track_numbers *numbers)
{
    *numbers = (struct dw_track_numbers){0};
    int error = settle_pids(profile, numbers);
    if (!error)
        error = settle_tids(profile, numbers);
    return error ? error : settle_sample_tids(profile, numbers);
}

void dw_track_numbers_release(struct dw_track_numbers *numbers)
{
    free(numbers->pids);
    free(numbers->tids);
    free(numbers->sample_tids);
    *numbers = (struct dw_track_numbers){0};
}
