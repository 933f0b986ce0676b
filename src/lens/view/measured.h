/* SPDX-License-Identifier: MIT
 * A family is the measures that one probe fills: entries of regions, exact calls, samples. What it
 * says of the paths of functions that a thread took is told in the terms that all families share:
 * how often, how long in all, how long in what is directly under it. */
#ifndef DW_LENS_VIEW_MEASURED_H
#define DW_LENS_VIEW_MEASURED_H

#include "lens/lens.h"
#include "model/metric.h"

/* Whether something was measured of it. A root alone is no entry. */
bool dw_family_is_in(const struct dw_profile *profile, enum dw_family family);
/* The one that is asked for; else the first of samples, calls and regions that is in. */
enum dw_family dw_family_choose(const struct dw_profile *profile, enum dw_family wanted);
static inline bool dw_shows_samples(const struct dw_profile *profile, enum dw_family wanted)
{
    return dw_family_choose(profile, wanted) == DW_FAMILY_SAMPLES;
}
/* What samples are weighed by: elapsed or CPU time, or their number when they stand for none. */
enum dw_measure dw_samples_weight(const struct dw_profile *profile);
/* Whether samples stand for no known time, so that they are told by their number. */
bool dw_samples_are_counts(const struct dw_profile *profile);
/* Whether what is told of the family is such numbers, and no times. */
static inline bool dw_family_is_counted(const struct dw_profile *profile, enum dw_family family)
{
    return family == DW_FAMILY_SAMPLES && dw_samples_are_counts(profile);
}

/* What these are numbers of. */
static inline const char *dw_counts_unit(const struct dw_profile *profile)
{
    return profile->shown_unit == DW_UNIT_BYTES ? "bytes" : "samples";
}

/* Whether a thread is shown with the family. Beside samples, those are not that have none of it. */
bool dw_family_has_thread(const struct dw_profile *profile, enum dw_family family, uint32_t thread);

uint32_t dw_family_thread_count(const struct dw_profile *profile, enum dw_family family);

struct dw_measured {
    dw_path_id path;                /* of functions */
    struct dw_metric metric;        /* the histogram is borrowed from the profile */
    const struct dw_value_row *row; /* that says so; NULL of samples, which are added up */
};

/* What a thread spent on a path and under it. */
struct dw_spent {
    uint64_t count, weight;
    uint64_t inside; /* the part directly under it */
    bool is_touched;
};

struct dw_measuring {
    const struct dw_profile *profile;
    enum dw_family family;
    const struct dw_value_table *values; /* of the thread at hand */
    struct dw_measured item;             /* the one at hand */
    uint32_t next;                       /* of its rows, or of the paths of samples */
    struct dw_spent *at;                 /* by path, of samples */
    dw_path_id *touched;
    uint32_t touched_count;
};

int dw_measuring_init(struct dw_measuring *measuring, const struct dw_profile *profile,
                      enum dw_family family);
/* What a thread spent, one path after the other; a path may come more than once. All of them are
 * to be taken before the next thread. */
void dw_measuring_thread(struct dw_measuring *measuring, uint32_t thread);
bool dw_measuring_next(struct dw_measuring *measuring);
void dw_measuring_release(struct dw_measuring *measuring);

#endif
