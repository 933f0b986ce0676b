/* SPDX-License-Identifier: MIT
 * The numbers of each path, of all threads together, in nanoseconds. */
#ifndef DW_LENS_VIEW_PATH_SUMS_H
#define DW_LENS_VIEW_PATH_SUMS_H

#include "lens/view/measured.h"

struct dw_path_sums {
    uint64_t count;    /* entries, with those still open */
    uint64_t total;    /* active time */
    uint64_t children; /* the part of it in the entries directly inside */
    bool taken;        /* by some thread, or on the way to a path that was */
};

static inline uint64_t dw_path_sums_self(const struct dw_path_sums *sums)
{
    return sums->total > sums->children ? sums->total - sums->children : 0;
}

/* Of each path of functions; free() it. NULL when out of memory. */
struct dw_path_sums *dw_path_sums_make(const struct dw_profile *profile, enum dw_family family);

#endif
