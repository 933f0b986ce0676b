/* SPDX-License-Identifier: MIT
 * A full buffer of events may have to be written by the thread that fills it. A collection may come
 * while its thread writes already; then the timeline does without it. */
#include "probe/gc/gc_events.h"

#include "probe/gc/gc_stack.h"
#include "record/state.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_SHOWN 64 /* functions around a collection */

static struct {
    struct dw_track *track; /* NULL: the timeline does not have the collection that runs */
    uint32_t depth;         /* slices that are open for it */
    uint64_t tick;
    int64_t collected, uncollectable; /* so far */
} now;

static struct dw_track *track_of(struct dw_ledger *ledger)
{
    if (dw_recorder.ledger != ledger || dw_ledger_is_flushing())
        return NULL;
    struct dw_track *track = dw_track_get();
    return track && track->timeline ? track : NULL;
}

static void enter(dw_path_id path, void *unused)
{
    (void)unused;
    dw_track_event(now.track, now.tick, DW_EVENT_ENTER, path, 0);
    now.depth++;
}

static int find_named(struct dw_ledger *ledger, enum dw_frame_kind kind, const char *name,
                      dw_path_id *path)
{
    dw_place_id place;
    int error = dw_ledger_named_place(ledger, kind, (struct dw_string){name, strlen(name)},
                                      (struct dw_string){0}, 0, &place);
    return error ? error : dw_ledger_path(ledger, *path, place, path);
}

void dw_gc_events_begin(struct dw_ledger *ledger, uint64_t life, unsigned generation)
{
    char name[32];
    snprintf(name, sizeof name, "<gc generation %u>", generation);
    now.depth = 0;
    now.track = track_of(ledger);
    if (!now.track)
        return;
    now.tick = dw_tick();
    dw_path_id path = dw_track_node(now.track)->path;
    int error = dw_gc_stack_path(ledger, life, DEPTH_SHOWN, enter, NULL, &path);
    if (!error)
        error = find_named(ledger, DW_FRAME_MARK, name, &path);
    if (!error)
        enter(path, NULL);
    else
        dw_recorder_drop(1);
}

static void count(struct dw_ledger *ledger, uint64_t tick, const char *name, int64_t value)
{
    dw_path_id path = DW_PATH_ROOT;
    if (!find_named(ledger, DW_FRAME_COUNTER, name, &path))
        dw_track_event(now.track, tick, DW_EVENT_COUNTER, path, value);
}

void dw_gc_events_end(struct dw_ledger *ledger, uint64_t collected, uint64_t uncollectable)
{
    struct dw_track *track = now.track;
    uint64_t tick = dw_tick();
    now.collected += (int64_t)collected;
    now.uncollectable += (int64_t)uncollectable;
    if (!track || track != track_of(ledger)) {
        now.track = NULL;
        return;
    }
    for (; now.depth; now.depth--)
        dw_track_event(track, tick, DW_EVENT_EXIT, 0, 0);
    count(ledger, tick, "gc collected", now.collected);
    if (now.uncollectable)
        count(ledger, tick, "gc uncollectable", now.uncollectable);
    now.track = NULL;
}

void dw_gc_events_forget(void)
{
    memset(&now, 0, sizeof now);
}
