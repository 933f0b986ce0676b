/* SPDX-License-Identifier: MIT
 * Numbers of processes and threads for viewers of timelines: two of the same number, from two
 * hosts or one after the other, get different ones. */
#ifndef DW_LENS_EXPORT_TRACK_NUMBERS_H
#define DW_LENS_EXPORT_TRACK_NUMBERS_H

#include "lens/lens.h"

/* What the second track is called, after the name of the thread. */
#define DW_SAMPLE_TRACK ": samples"

struct dw_track_numbers {
    uint64_t *pids, *tids; /* of each process and thread */
    uint64_t *sample_tids; /* of its samples: another one when it has events too */
};

/* Whether the thread has events and samples in time, which do not nest: they need two tracks. */
bool dw_thread_needs_two_tracks(const struct dw_thread *thread);

/* Timelines have samples and events side by side, unless one of them was asked for. */
static inline bool dw_tracks_have_samples(const struct dw_lens_options *options)
{
    return options->family == DW_FAMILY_ANY || options->family == DW_FAMILY_SAMPLES;
}
static inline bool dw_tracks_have_events(const struct dw_lens_options *options)
{
    return options->family != DW_FAMILY_SAMPLES;
}
/* Whether there is something of what was asked for. */
bool dw_tracks_can(const struct dw_profile *profile, const struct dw_lens_options *options);

/* Release it in any case. */
int dw_track_numbers_make(const struct dw_profile *profile, struct dw_track_numbers *numbers);
void dw_track_numbers_release(struct dw_track_numbers *numbers);

#endif
