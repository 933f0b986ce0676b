/* SPDX-License-Identifier: MIT
 * The samples of a thread in order of time, as functions that open and close: one that two
 * samples in a row have at the same depth stayed open between them. Each CLOSE ends the OPEN
 * before it that is still open, and none stays open at the end. */
#ifndef DW_LENS_SLICE_WALK_H
#define DW_LENS_SLICE_WALK_H

#include "lens/stack_tree.h"

typedef void dw_slice_visit(void *context, bool opens, dw_frame_id frame, uint64_t time_ns);

struct dw_slice_walk {
    struct dw_stack_tree tree;
    uint64_t epoch_ns;
    uint32_t *depths;           /* of each path of the tree */
    dw_frame_id *open, *wanted; /* as deep as the deepest */
    uint32_t open_count;
};

/* Whether any thread has samples with their times. */
bool dw_slice_walk_can(const struct dw_profile *profile);

/* Times are told since `epoch_ns`. */
int dw_slice_walk_init(struct dw_slice_walk *walk, const struct dw_profile *profile,
                       uint64_t epoch_ns);
void dw_slice_walk_release(struct dw_slice_walk *walk);
void dw_slice_walk_thread(struct dw_slice_walk *walk, uint32_t thread, dw_slice_visit *visit,
                          void *context);

#endif
