/* SPDX-License-Identifier: MIT
 * The samples of a thread in order of time, as functions that open and close: one that two
 * samples in a row have at the same depth stayed open between them. Each CLOSE ends the OPEN
 * before it that is still open, and none stays open at the end. Samples are as long as their
 * weights and do not overlap, so the outermost functions last as long as all samples weigh. Nothing
 * stays open when the labels change. */
#ifndef DW_LENS_EXPORT_SLICE_WALK_H
#define DW_LENS_EXPORT_SLICE_WALK_H

#include "base/room.h"
#include "model/profile.h"

/* The labels are the same when a slice opens and when it closes; what the thread did, which samples
 * have among them, may have changed. */
typedef void dw_slice_visit(void *context, bool opens, dw_frame_id frame, dw_labels_id labels,
                            uint64_t time_ns);

struct dw_slice_walk {
    const struct dw_profile *profile;
    uint64_t epoch_ns;
    uint32_t *depths;           /* of each path, as far as it is shown */
    dw_path_id *shown;          /* of each path: itself, or the last above it that is shown */
    dw_frame_id *open, *wanted; /* as deep as the deepest */
    uint32_t open_count;
    dw_path_id at;       /* what is open */
    dw_labels_id labels; /* that it was opened with */
    uint64_t *ends;      /* of the samples of the current thread */
    struct dw_room room;
};

/* Whether any thread has samples with their times. */
bool dw_slice_walk_can(const struct dw_profile *profile);

/* The outermost DW_SPELL_MAX functions of a stack are shown; viewers show fewer. Times are told
 * since `epoch_ns`. */
int dw_slice_walk_init(struct dw_slice_walk *walk, const struct dw_profile *profile,
                       uint64_t epoch_ns);
void dw_slice_walk_release(struct dw_slice_walk *walk);
void dw_slice_walk_thread(struct dw_slice_walk *walk, uint32_t thread, dw_slice_visit *visit,
                          void *context);

#endif
