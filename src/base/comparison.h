/* SPDX-License-Identifier: MIT
 * Says whether one series of measurements is larger than another, by what factor, and how sure that
 * is. The two are compared unit by unit: a unit is the median of a group of values that share their
 * luck, such as those of one process. */
#ifndef DW_BASE_COMPARISON_H
#define DW_BASE_COMPARISON_H

#include "base/out.h"
#include "base/statistics.h"

struct dw_runs {
    const double *values; /* in the order in which they were measured */
    size_t count;         /* at least 1 */
    size_t group;         /* consecutive values, as of one process, that make a unit; or 0 */
};

/* The median of each group, to be freed; a last group that is not full counts too. */
int dw_runs_units(const struct dw_runs *series, double **units, size_t *count);

struct dw_comparison {
    double ratio;                /* of b to a */
    struct dw_interval interval; /* of the ratio; 0 to INFINITY when there are too few units */
    double confidence;
    double p;                           /* of pairs by signed ranks, else mann_whitney_p */
    double mann_whitney_p, delta;       /* and Cliff's, see rank_test.h */
    size_t units[2];                    /* of a and of b */
    bool has_processes[2], has_zero[2]; /* a group; a unit that took no time at all */
    bool is_paired;
};

/* Paired: units of the same number were measured side by side, in an order that chance decided,
 * so that what drifts favours neither; there must be as many of both. Otherwise nothing can take
 * a drift out. Without a unit above 0 there is no ratio: it is NAN. 0 or DW_ERR_MEMORY. */
int dw_comparison_make(const struct dw_runs *a, const struct dw_runs *b, bool is_paired,
                       double confidence, struct dw_comparison *comparison);

enum dw_verdict { DW_VERDICT_UNKNOWN, DW_VERDICT_SAME, DW_VERDICT_FASTER, DW_VERDICT_SLOWER };

/* The verdict on b, taking the values as times. */
enum dw_verdict dw_comparison_verdict(const struct dw_comparison *comparison);
/* "1.32x slower"; nothing unless the verdict is faster or slower. */
void dw_comparison_put_change(struct dw_out *out, const struct dw_comparison *comparison);
/* The verdict as one sentence without a full stop. */
void dw_comparison_put(struct dw_out *out, const struct dw_comparison *comparison, const char *a,
                       const char *b);

#endif
