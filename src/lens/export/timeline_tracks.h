/* SPDX-License-Identifier: MIT
 * What viewers of timelines show: threads in order, each with a track of its events and one of its
 * samples. Two processes or threads of the same number, from two hosts or one after the other, get
 * different ones. */
#ifndef DW_LENS_EXPORT_TIMELINE_TRACKS_H
#define DW_LENS_EXPORT_TIMELINE_TRACKS_H

#include "base/room.h"
#include "lens/export/event_walk.h"
#include "lens/export/slice_walk.h"
#include "lens/lens.h"

/* What the second track is called, after the name of the thread. */
#define DW_SAMPLE_TRACK ": samples"

struct dw_tracks {
    const struct dw_profile *profile;
    const struct dw_lens_options *options;
    struct dw_event_walk events;
    struct dw_slice_walk samples;
    uint32_t *order;       /* of the threads */
    uint64_t *pids, *tids; /* of each process and thread */
    uint64_t *sample_tids; /* of its samples: another one when it has events too */
    struct dw_room room;
};

/* DW_ERR_NO_TIMELINE when there is nothing of what the options ask for. Release it in any case. */
int dw_tracks_init(struct dw_tracks *tracks, const struct dw_profile *profile,
                   const struct dw_lens_options *options);
void dw_tracks_release(struct dw_tracks *tracks);

/* Whether the thread has events and samples in time, which do not nest: they need two tracks. */
bool dw_thread_needs_two_tracks(const struct dw_thread *thread);

/* Who is told of a track when it begins, and then what happens on it. */
struct dw_track_visitor {
    void (*begin)(void *context, uint32_t thread, bool is_of_samples);
    dw_slice_visit *slice;
    dw_step_visit *step;
    void *context;
};
/* Visits all tracks, unless the output has failed. 0 or DW_ERR_MEMORY. */
int dw_tracks_walk(struct dw_tracks *tracks, const struct dw_track_visitor *visitor,
                   const struct dw_out *out);

#endif
