/* SPDX-License-Identifier: MIT
 * What each thread spent on each path itself and not under it, whatever the family: exports are
 * made of this. Samples say it themselves. Of calls and entries of regions it is their active time
 * less that of what is directly inside them, also of what has not ended. */
#ifndef DW_LENS_VIEW_OWN_TIMES_H
#define DW_LENS_VIEW_OWN_TIMES_H

#include "lens/view/measured.h"

struct dw_own_time {
    dw_path_id path; /* of places */
    dw_labels_id labels;
    uint64_t count; /* samples, calls, or entries; 0 of the root that these are under */
    uint64_t self;  /* ns; the number of samples that stand for no known time */
};

struct dw_own_times {
    struct dw_measuring measuring;
    uint32_t *order, *first;   /* threads, as the roster has them */
    uint32_t next;             /* in the order */
    uint32_t thread;           /* the one at hand, and */
    bool is_first;             /* whether it began the recording of its process */
    struct dw_own_time *items; /* what it has */
    uint32_t count, capacity;
    uint64_t *open; /* of each path: time of entries directly inside that have not ended */
    int error;
};

/* Release it in any case. */
int dw_own_times_init(struct dw_own_times *own, const struct dw_profile *profile,
                      enum dw_family family);
/* Goes on to the next thread that has something of the family, in the order of the roster. False
 * after the last one, and after an error, which is in own->error. */
bool dw_own_times_next(struct dw_own_times *own);
void dw_own_times_release(struct dw_own_times *own);

#endif
