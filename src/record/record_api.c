/* SPDX-License-Identifier: MIT
 * The recording half of include/dwell.h. */
#include "dwell.h"

#include "base/error.h"
#include "record/recorder.h"

#include <string.h>

/* 0 when there is no memory for the name. */
static dw_frame_id intern(enum dw_frame_kind kind, const char *name)
{
    dw_frame_id frame;
    return dw_recorder_frame(kind, name, strlen(name), "", 0, 0, &frame) ? 0 : frame;
}

dw_region_id dw_region_register(const char *name)
{
    return intern(DW_FRAME_REGION, name);
}

dw_region_entry dw_region_enter(dw_region_id region)
{
    dw_region_entry none = {0};
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        return none;
    if (!region) { /* there was no memory for its name */
        dw_recorder_drop(1);
        return none;
    }
    struct dw_track *track = dw_track_get();
    if (!track)
        return none;
    return (dw_region_entry){dw_span_open(track, dw_track_node(track), region, NULL, false)};
}

void dw_region_exit(dw_region_entry entry)
{
    uint64_t now = dw_tick();
    struct dw_track *track = entry.span ? dw_track_get() : NULL;
    if (!track)
        return;
    if (track->top == entry.span)
        dw_span_close(track, entry.span, now, true);
    else
        dw_track_close_inner(track, entry.span, true);
}

void dw_count(const char *name, int64_t amount)
{
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        return;
    dw_frame_id counter = intern(DW_FRAME_COUNTER, name);
    if (counter)
        dw_recorder_count(counter, amount);
    else
        dw_recorder_drop(1);
}

void dw_instant(const char *name)
{
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        return;
    dw_frame_id instant = intern(DW_FRAME_INSTANT, name);
    if (instant)
        dw_recorder_instant(instant);
    else
        dw_recorder_drop(1);
}

int dw_record_start(const char *log_file, unsigned flags)
{
    struct dw_record_options options = {
        .log_file = log_file,
        .timeline = flags & DW_RECORD_TIMELINE,
        .cpu = flags & DW_RECORD_CPU,
    };
    return dw_recorder_start(&options);
}

int dw_record_stop(void)
{
    return dw_recorder_stop();
}
