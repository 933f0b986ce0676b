/* SPDX-License-Identifier: MIT
 * The timeline of one thread as steps that always nest and never go back in
 * time, whatever was lost of it: each CLOSE ends the OPEN before it that is
 * still open, and none stays open at the end. */
#ifndef DW_LENS_EXPORT_EVENT_WALK_H
#define DW_LENS_EXPORT_EVENT_WALK_H

#include "base/room.h"
#include "model/profile.h"

enum dw_step_kind {
    DW_STEP_OPEN,
    DW_STEP_CLOSE,
    DW_STEP_INSTANT,
    DW_STEP_COUNTER,
};

struct dw_step {
    enum dw_step_kind kind;
    uint64_t time_ns; /* since the earliest start of a process */
    dw_path_id path;
    int64_t value; /* of COUNTER */
    bool resumed;  /* OPEN: after a suspension */
};

typedef void dw_step_visit(void *context, const struct dw_step *step);

struct dw_event_walk {
    const struct dw_profile *profile;
    uint64_t epoch_ns;
    uint32_t *blocks; /* all blocks, grouped by thread */
    uint32_t *first;  /* of each thread: where its blocks begin in `blocks` */
    struct dw_room room;
};

int dw_event_walk_init(struct dw_event_walk *walk, const struct dw_profile *profile);
void dw_event_walk_release(struct dw_event_walk *walk);
bool dw_event_walk_has(const struct dw_event_walk *walk, uint32_t thread);
/* Visits the steps of one thread. 0 or DW_ERR_MEMORY. */
int dw_event_walk_thread(const struct dw_event_walk *walk, uint32_t thread, dw_step_visit *visit,
                         void *context);

#endif
