/* SPDX-License-Identifier: MIT
 * The stack of activations of a thread. A line gets its time when it ends; `frozen` tells which
 * lines recursion stands on already, so that no moment counts twice on one line. */
#include "probe/line/line_track.h"

#include "base/grow.h"
#include "cpython/thread_name.h"
#include "probe/line/line_memory.h"

#include <string.h>

/* Tracks are never freed but used again, because threads that the profile does not know of
 * may still look at one. */
static struct dw_line_track *spare_tracks;

static struct dw_line_track *new_track(void)
{
    struct dw_line_track *track = spare_tracks;
    if (!track)
        return calloc(1, sizeof *track);
    spare_tracks = track->next_spare;
    *track = (struct dw_line_track){.stack = track->stack, .capacity = track->capacity};
    return track;
}

/* An array that has room for the index, with NULL in what is new. */
static int make_room(void ***array, uint32_t *capacity, uint32_t index)
{
    uint32_t grown = index < 8 ? 8 : index + index / 2 + 1;
    void **larger = index < *capacity ? *array : realloc(*array, grown * sizeof *larger);
    if (!larger || index < *capacity)
        return larger ? 0 : DW_ERR_MEMORY;
    memset(larger + *capacity, 0, (grown - *capacity) * sizeof *larger);
    *array = larger;
    *capacity = grown;
    return 0;
}

struct dw_line_count *dw_line_counts_make(struct dw_line_set *set,
                                          const struct dw_line_code *function)
{
    if (make_room((void ***)&set->counts, &set->capacity, function->index))
        return NULL;
    return set->counts[function->index] = calloc(function->line_count + 1u, sizeof **set->counts);
}

bool dw_line_track_change_set(struct dw_line_track *track, dw_labels_id labels)
{
    if (make_room((void ***)&track->sets, &track->set_count, labels))
        return false;
    struct dw_line_set **set = &track->sets[labels];
    if (!*set && (*set = calloc(1, sizeof **set)))
        (*set)->labels = labels;
    if (*set)
        track->set = *set;
    return *set;
}

static struct dw_line_track *enter(struct dw_line_track *track)
{
    if (track->thread_id)
        return track;
    free(track->thread_name);
    track->thread_id = PyThread_get_thread_native_id();
    track->thread_name = dw_py_current_thread_name();
    return track;
}

/* A thread that begins where another one ended goes on with the numbers of that one. */
struct dw_line_track *dw_line_track_find(struct dw_line_profile *profile)
{
    unsigned long thread = PyThread_get_thread_ident();
    for (uint32_t i = 0; i < profile->track_count; i++)
        if (profile->tracks[i]->thread == thread)
            return enter(profile->tracks[i]);
    if (DW_GROW(profile->tracks, profile->track_count, profile->track_capacity))
        return NULL;
    struct dw_line_track *track = new_track();
    if (!track || !dw_line_track_change_set(track, 0)) {
        free(track);
        return NULL;
    }
    track->profile = profile;
    track->with_memory = profile->with_memory;
    track->thread = thread;
    return profile->tracks[profile->track_count++] = enter(track);
}

static void free_counts(struct dw_line_count *counts, uint32_t count)
{
    for (uint32_t i = 0; counts && i < count; i++)
        for (struct dw_line_edge *edge = counts[i].edges, *next; edge; edge = next) {
            next = edge->next;
            free(edge);
        }
    free(counts);
}

static void free_sets(struct dw_line_track *track)
{
    for (uint32_t i = 0; i < track->set_count; i++) {
        struct dw_line_set *set = track->sets[i];
        for (uint32_t f = 0; set && f < set->capacity; f++)
            free_counts(set->counts[f],
                        set->counts[f] ? track->profile->functions[f]->line_count + 1 : 0);
        if (set)
            free(set->counts);
        free(set);
    }
    free(track->sets);
    free(track->thread_name);
    dw_value_table_release(&track->now);
    dw_value_table_release(&track->written);
}

/* Before its functions. */
void dw_line_tracks_release(struct dw_line_profile *profile)
{
    for (uint32_t i = 0; i < profile->track_count; i++) {
        free_sets(profile->tracks[i]);
        profile->tracks[i]->next_spare = spare_tracks;
        spare_tracks = profile->tracks[i];
    }
    free(profile->tracks);
}

struct dw_line_edge *dw_line_edge_find(struct dw_line_count *line,
                                       const struct dw_line_callee *callee)
{
    struct dw_line_edge **link = &line->edges, *edge;
    while ((edge = *link) && edge->callee != callee)
        link = &edge->next;
    if (edge) {
        *link = edge->next;
    } else {
        edge = calloc(1, sizeof *edge);
        if (!edge)
            return NULL;
        edge->callee = callee;
    }
    edge->next = line->edges;
    return line->edges = edge;
}

/* Adds the time of `open` since it was last settled to its caller. */
static void charge_caller(struct dw_line_track *track, const struct dw_line_activation *open,
                          uint64_t now)
{
    uint64_t ticks = now - open->start;
    struct dw_line_activation *caller = (struct dw_line_activation *)open - 1;
    if (open->outer)
        track->stack[open->outer].nested += ticks;
    if (caller == track->stack)
        return;
    caller->children += ticks;
    bool is_call = caller->line && !(open->function && open->function->is_inner);
    struct dw_line_edge *edge = is_call && dw_line_is_outermost(caller)
                                    ? dw_line_edge_to(caller->line, open->callee)
                                    : NULL;
    if (edge)
        edge->time += ticks;
}

/* The activation of the same function that is innermost so far, or 0. */
static uint32_t find_outer(const struct dw_line_track *track, const struct dw_line_code *function)
{
    uint32_t at = function->outermost->open ? track->depth : 0;
    while (at && !(track->stack[at].function &&
                   track->stack[at].function->outermost == function->outermost))
        at--;
    return at;
}

/* The outer activation stands on its line until the inner one ends. */
static void freeze(struct dw_line_activation *outer, int change)
{
    if (outer->frozen && outer->line)
        outer->frozen[dw_line_index(outer)] += (uint32_t)change;
}

static void nest(struct dw_line_track *track, struct dw_line_activation *open)
{
    struct dw_line_activation *outer = &track->stack[open->outer];
    if (!outer->frozen)
        outer->frozen = calloc(outer->function->outermost->line_count + 1u, sizeof *outer->frozen);
    open->frozen = outer->frozen;
    freeze(outer, 1);
}

struct dw_line_activation *dw_line_push(struct dw_line_track *track, struct dw_line_code *function,
                                        const struct dw_line_callee *callee)
{
    if (__builtin_expect(track->depth + 1 >= track->capacity, 0) &&
        dw_grow((void **)&track->stack, &track->capacity, sizeof *track->stack))
        return NULL;
    uint32_t outer = function ? find_outer(track, function) : 0;
    struct dw_line_activation *open = &track->stack[++track->depth];
    *open = (struct dw_line_activation){.function = function, .callee = callee, .outer = outer};
    if (function) {
        function->outermost->open++;
        dw_line_follow_labels(track, open);
    }
    if (outer)
        nest(track, open);
    return open;
}

/* Adds the time of an activation up to now, as if it ended. */
static void settle(struct dw_line_track *track, const struct dw_line_activation *open, uint64_t now)
{
    dw_line_end(open, now);
    if (open->outer)
        freeze(&track->stack[open->outer], -1);
    charge_caller(track, open, now);
}

void dw_line_drop(struct dw_line_track *track)
{
    struct dw_line_activation *open = &track->stack[track->depth--];
    if (open->function)
        open->function->outermost->open--;
    if (!open->outer || track->stack[open->outer].frozen != open->frozen)
        free(open->frozen);
}

void dw_line_pop(struct dw_line_track *track, uint64_t now)
{
    if (track->with_memory) {
        dw_line_end_memory(&track->stack[track->depth], now);
        dw_line_leave_memory(&track->stack[track->depth]);
    }
    settle(track, &track->stack[track->depth], now);
    dw_line_drop(track);
}

struct dw_line_activation *dw_line_find_below(struct dw_line_track *track,
                                              const struct dw_line_code *function, uint64_t now)
{
    uint32_t at = track->depth;
    while (at && track->stack[at].function != function)
        at--;
    while (at && track->depth > at)
        dw_line_pop(track, now);
    return at ? &track->stack[at] : NULL;
}

void dw_line_track_restart(struct dw_line_track *track, uint64_t now)
{
    for (uint32_t at = 1; at <= track->depth; at++) {
        struct dw_line_activation *open = &track->stack[at];
        dw_line_begin(open, open->line, now);
        open->start = now;
    }
}

/* From the top down, so that each has the time of those above it. */
void dw_line_track_settle(struct dw_line_track *track, uint64_t now)
{
    for (uint32_t at = track->depth; at; at--)
        settle(track, &track->stack[at], now);
    dw_line_track_restart(track, now);
    for (uint32_t at = 1; at <= track->depth; at++)
        if (track->stack[at].outer)
            freeze(&track->stack[track->stack[at].outer], 1);
}
