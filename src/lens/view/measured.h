/* SPDX-License-Identifier: MIT
 * A family is the measures that one probe fills: entries of regions, exact calls, samples. What it
 * says of the paths of functions that a thread took is told in the terms that all families share:
 * how often, how long in all, how long in what is directly under it. */
#ifndef DW_LENS_VIEW_MEASURED_H
#define DW_LENS_VIEW_MEASURED_H

#include "lens/lens.h"
#include "lens/view/touched.h"
#include "model/metric.h"

/* Whether it is a function, or stands for one. */
static inline bool dw_frame_kind_is_code(uint32_t kind)
{
    return kind == DW_FRAME_FUNCTION || kind == DW_FRAME_BUILTIN || kind == DW_FRAME_NATIVE ||
           kind == DW_FRAME_MARK || kind == DW_FRAME_TYPE || kind == DW_FRAME_OBJECT;
}

/* Whether something was measured of it. The time of the root alone does not count. */
bool dw_family_is_in(const struct dw_profile *profile, enum dw_family family);
/* The one that is asked for; else the first that the profile has. */
enum dw_family dw_family_choose(const struct dw_profile *profile, enum dw_family wanted);
static inline bool dw_shows_samples(const struct dw_profile *profile, enum dw_family wanted)
{
    return dw_family_choose(profile, wanted) == DW_FAMILY_SAMPLES;
}
/* What samples are weighed by: elapsed time, CPU time or, when they stand for neither, their
 * number. */
enum dw_measure dw_samples_weight(const struct dw_profile *profile);
/* Whether samples stand for no known time, so that they are told by their number. */
bool dw_samples_are_counts(const struct dw_profile *profile);
/* Whether the family is told by such numbers, not by times. */
static inline bool dw_family_is_counted(const struct dw_profile *profile, enum dw_family family)
{
    return family == DW_FAMILY_SAMPLES && dw_samples_are_counts(profile);
}

/* The unit of these numbers. */
static inline const char *dw_counts_unit(const struct dw_profile *profile)
{
    return dw_profile_shown_unit(profile) == DW_UNIT_BYTES ? "bytes" : "samples";
}

/* Whether a thread is shown with the family. In a profile with samples, only threads that have
 * something of the family are. */
bool dw_family_has_thread(const struct dw_profile *profile, enum dw_family family, uint32_t thread);

uint32_t dw_family_thread_count(const struct dw_profile *profile, enum dw_family family);

struct dw_measured {
    dw_path_id path;                /* of functions */
    struct dw_metric metric;        /* the spread is borrowed from the profile */
    const struct dw_value_row *row; /* that says so; NULL of samples, which are added up */
};

/* What a row says, of samples excepted. */
struct dw_metric dw_family_metric(enum dw_family family, const struct dw_value_table *values,
                                  const struct dw_value_row *row);

/* What a thread spent on a path and under it. */
struct dw_spent {
    uint64_t count, weight;
    uint64_t inside; /* the part directly under it */
};

struct dw_measuring {
    const struct dw_profile *profile;
    enum dw_family family;
    const struct dw_value_table *values; /* of the thread at hand */
    struct dw_measured item;             /* the one at hand */
    uint32_t next;                       /* of its rows, or of the paths of samples */
    struct dw_spent *at;                 /* by path, of samples */
    struct dw_touched touched;           /* of them */
};

int dw_measuring_init(struct dw_measuring *measuring, const struct dw_profile *profile,
                      enum dw_family family);
/* Begins with a thread; dw_measuring_next() then gives what it spent, one path after the other. A
 * path may come more than once. All of them must be taken before the next thread. */
void dw_measuring_thread(struct dw_measuring *measuring, uint32_t thread);
bool dw_measuring_next(struct dw_measuring *measuring);
void dw_measuring_release(struct dw_measuring *measuring);

/* The numbers of a path, of all threads together. */
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
