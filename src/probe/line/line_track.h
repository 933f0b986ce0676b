/* SPDX-License-Identifier: MIT
 * The calls that are open in a thread, and what their lines take. Of the activations of a recursive
 * function only the innermost spends its time on its line; the others are frozen on theirs. */
#ifndef DW_PROBE_LINE_LINE_TRACK_H
#define DW_PROBE_LINE_LINE_TRACK_H

#include "probe/line/line_probe.h"

/* The index of the line it is on; 0: it is on none. */
static inline uint32_t dw_line_index(const struct dw_line_activation *open)
{
    return open->line ? (uint32_t)(open->line - open->counts) : 0;
}

/* Whether no other activation below stands on the same line. */
static inline bool dw_line_is_outermost(const struct dw_line_activation *open)
{
    return !open->outer || !open->frozen || !open->frozen[dw_line_index(open)];
}

static inline void dw_line_end(const struct dw_line_activation *open, uint64_t now)
{
    struct dw_line_count *line = open->line;
    if (!line)
        return;
    uint64_t ticks = now - open->line_start;
    line->time += ticks - open->nested;
    line->self += ticks - open->children;
    if (dw_line_is_outermost(open))
        line->inclusive += ticks;
}

static inline void dw_line_begin(struct dw_line_activation *open, struct dw_line_count *line,
                                 uint64_t now)
{
    open->line = line;
    open->line_start = now;
    open->children = open->nested = 0;
}

static inline struct dw_line_activation *dw_line_top(struct dw_line_track *track)
{
    return &track->stack[track->depth];
}

/* The thread has other labels than its set. False when out of memory. */
bool dw_line_track_change_set(struct dw_line_track *track, dw_labels_id labels);
/* The counts of a function that has lines, which are made if there are none; NULL: no memory. */
struct dw_line_count *dw_line_counts_make(struct dw_line_set *set,
                                          const struct dw_line_code *function);

static inline struct dw_line_count *dw_line_counts_of(struct dw_line_set *set,
                                                      const struct dw_line_code *function)
{
    if (__builtin_expect(function->index < set->capacity && set->counts[function->index], 1))
        return set->counts[function->index];
    return function->kinds ? dw_line_counts_make(set, function) : NULL;
}

/* What begins now counts under the labels that the thread has now. */
static inline void dw_line_follow_labels(struct dw_line_track *track,
                                         struct dw_line_activation *open)
{
    dw_labels_id labels = dw_labels_here(&track->watch);
    if (__builtin_expect(labels != track->set->labels, 0))
        dw_line_track_change_set(track, labels);
    if (__builtin_expect(open->set == track->set, 1))
        return;
    open->set = track->set;
    open->counts = dw_line_counts_of(track->set, open->function->outermost);
}

/* The thread's track, which is made if it has none; NULL when out of memory. */
struct dw_line_track *dw_line_track_find(struct dw_line_profile *profile);
void dw_line_tracks_release(struct dw_line_profile *profile);
/* NULL when out of memory. */
struct dw_line_activation *dw_line_push(struct dw_line_track *track, struct dw_line_code *function,
                                        const struct dw_line_callee *callee);
void dw_line_pop(struct dw_line_track *track, uint64_t now);
/* Removes the uppermost activation; its time was settled before, or is lost. */
void dw_line_drop(struct dw_line_track *track);
struct dw_line_activation *dw_line_find_below(struct dw_line_track *track,
                                              const struct dw_line_code *function, uint64_t now);
struct dw_line_edge *dw_line_edge_find(struct dw_line_count *line,
                                       const struct dw_line_callee *callee);
/* Adds the time of all that is open, which goes on from now. */
void dw_line_track_settle(struct dw_line_track *track, uint64_t now);
/* The same without adding. */
void dw_line_track_restart(struct dw_line_track *track, uint64_t now);

/* The uppermost activation of the function. Those above it left without an event. */
static inline struct dw_line_activation *
dw_line_find_open(struct dw_line_track *track, const struct dw_line_code *function, uint64_t now)
{
    bool is_top = track->depth && dw_line_top(track)->function == function;
    return is_top ? dw_line_top(track) : dw_line_find_below(track, function, now);
}

/* The edge from the line to what it calls, at the front mostly; NULL when out of memory. */
static inline struct dw_line_edge *dw_line_edge_to(struct dw_line_count *line,
                                                   const struct dw_line_callee *callee)
{
    bool is_first = line->edges && line->edges->callee == callee;
    return is_first ? line->edges : dw_line_edge_find(line, callee);
}

#endif
