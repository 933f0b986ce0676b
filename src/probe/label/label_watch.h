/* SPDX-License-Identifier: MIT
 * What a thread does, for hot paths that tell it apart: its labels, and the innermost region as
 * one more. While nothing changes, finding that out takes some loads and no call. */
#ifndef DW_PROBE_LABEL_LABEL_WATCH_H
#define DW_PROBE_LABEL_LABEL_WATCH_H

#include "cpython/context_labels.h"
#include "record/recorder.h"

#define DW_LABEL_WATCH_KNOWN 16 /* pairs that are found again without a search */

/* One for each thread, zero-initialised. */
struct dw_label_watch {
    struct dw_py_labels_seen seen;
    dw_labels_id own;   /* those that the program gave */
    dw_frame_id region; /* its name is the same in all recordings of the process */
    dw_labels_id id;    /* of the set that has both */
    struct {
        dw_labels_id own, id;
        dw_frame_id region;
    } known[DW_LABEL_WATCH_KNOWN];
};

dw_labels_id dw_label_watch_find(struct dw_label_watch *watch, dw_labels_id own,
                                 dw_frame_id region);

/* The set of the calling thread, which holds the GIL. */
static inline dw_labels_id dw_labels_here(struct dw_label_watch *watch)
{
    dw_labels_id own = 0;
    if (__builtin_expect(atomic_load_explicit(&dw_py_labels_are_used, memory_order_relaxed), 0))
        own = dw_py_labels_now(PyThreadState_Get(), &watch->seen);
    dw_frame_id region = dw_region_here();
    if (__builtin_expect(own == watch->own && region == watch->region, 1))
        return watch->id;
    return dw_label_watch_find(watch, own, region);
}

#endif
