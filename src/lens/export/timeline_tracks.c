/* SPDX-License-Identifier: MIT
 * Whoever comes first keeps its number; those that claim the same one later get numbers that nobody
 * has. */
#include "lens/export/timeline_tracks.h"

#include "base/order.h"
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
    return dw_ascending(a->group, b->group) ?: dw_ascending(a->number, b->number)
           ?: dw_ascending(a->rank, b->rank);
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

/* Those of processes are one group, those of threads as many as there are processes. */
static int settle_all(struct dw_tracks *tracks, bool are_threads, uint64_t **numbers)
{
    const struct dw_profile *profile = tracks->profile;
    uint32_t *order = NULL, count = are_threads ? profile->thread_count : profile->process_count;
    struct claim *claims = dw_room_get(&tracks->room, count, sizeof *claims);
    DW_ROOM_GET(&tracks->room, *numbers, count);
    int error = dw_room_error(&tracks->room);
    if (!error)
        error = (are_threads ? dw_roster_threads : dw_roster_processes)(profile, &order);
    for (uint32_t i = 0; !error && i < count; i++) {
        const struct dw_thread *thread = are_threads ? &profile->threads[order[i]] : NULL;
        claims[i] = thread ? (struct claim){thread->process, thread->tid, i, order[i]}
                           : (struct claim){0, profile->processes[order[i]].pid, i, order[i]};
    }
    if (!error && count)
        settle(claims, count, *numbers);
    free(order);
    return error;
}

/* Timelines have samples and events side by side, unless one of them was asked for. */
static bool have_samples(const struct dw_lens_options *options)
{
    return options->family == DW_FAMILY_ANY || options->family == DW_FAMILY_SAMPLES;
}

static bool have_events(const struct dw_lens_options *options)
{
    return options->family != DW_FAMILY_SAMPLES;
}

bool dw_thread_needs_two_tracks(const struct dw_thread *thread)
{
    return thread->block_count && thread->timed_count;
}

static int settle_sample_tids(struct dw_tracks *tracks)
{
    const struct dw_profile *profile = tracks->profile;
    uint64_t next = 0;
    DW_ROOM_GET(&tracks->room, tracks->sample_tids, profile->thread_count);
    if (tracks->room.failed)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        next = raise(next, tracks->tids[i]);
    for (uint32_t i = 0; i < profile->thread_count; i++)
        tracks->sample_tids[i] =
            dw_thread_needs_two_tracks(&profile->threads[i]) ? next++ : tracks->tids[i];
    return 0;
}

int dw_tracks_init(struct dw_tracks *tracks, const struct dw_profile *profile,
                   const struct dw_lens_options *options)
{
    *tracks = (struct dw_tracks){.profile = profile, .options = options};
    if (!(profile->block_count && have_events(options)) &&
        !(dw_slice_walk_can(profile) && have_samples(options)))
        return DW_ERR_NO_TIMELINE;
    int error = dw_event_walk_init(&tracks->events, profile);
    if (!error)
        error = dw_slice_walk_init(&tracks->samples, profile, tracks->events.epoch_ns);
    if (!error)
        error = dw_roster_threads(profile, &tracks->order);
    if (!error)
        error = settle_all(tracks, false, &tracks->pids);
    if (!error)
        error = settle_all(tracks, true, &tracks->tids);
    return error ? error : settle_sample_tids(tracks);
}

void dw_tracks_release(struct dw_tracks *tracks)
{
    dw_event_walk_release(&tracks->events);
    dw_slice_walk_release(&tracks->samples);
    dw_room_release(&tracks->room);
    free(tracks->order);
}

int dw_tracks_walk(struct dw_tracks *tracks, const struct dw_track_visitor *visitor,
                   const struct dw_out *out)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < tracks->profile->thread_count && !out->error; i++) {
        uint32_t thread = tracks->order[i];
        visitor->begin(visitor->context, thread, true);
        if (have_samples(tracks->options))
            dw_slice_walk_thread(&tracks->samples, thread, visitor->slice, visitor->context);
        visitor->begin(visitor->context, thread, false);
        if (have_events(tracks->options))
            error = dw_event_walk_thread(&tracks->events, thread, visitor->step, visitor->context);
    }
    return error;
}
