/* SPDX-License-Identifier: MIT
 * Whether one series of measurements is larger than another, by what factor, and how sure
 * that is. The two are compared unit by unit: a unit is the median of a group of values that
 * share their luck, such as those of one process. */
#ifndef DW_BASE_COMPARISON_H
#define DW_BASE_COMPARISON_H

#include "base/out.h"
#include "base/statistics.h"

struct dw_series {
    const double *values; /* in the order in which they were measured */
    size_t count;         /* at least 1 */
    size_t group;         /* consecutive values that make one unit; 0 is 1 */
};

/* The median of each group, to be freed; a last group that is not full counts too. */
int dw_series_units(const struct dw_series *series, double **units, size_t *count);

struct dw_comparison {
    double ratio;                /* of b to a */
    struct dw_interval interval; /* of the ratio; 0 to INFINITY when there are too few units */
    double confidence;
    double p, delta; /* Mann-Whitney and Cliff's, see rank_test.h */
    size_t units;    /* of the smaller series */
    bool is_paired;
};

/* Paired: units of the same number were measured side by side, as ABBA, so that what drifts
 * strikes both. Otherwise nothing can take a drift out. 0 or DW_ERR_MEMORY. */
int dw_comparison_make(const struct dw_series *a, const struct dw_series *b, bool is_paired,
                       double confidence, struct dw_comparison *comparison);

enum dw_verdict { DW_VERDICT_UNKNOWN, DW_VERDICT_SAME, DW_VERDICT_FASTER, DW_VERDICT_SLOWER };

/* Of b, taking the values as times. */
enum dw_verdict dw_comparison_verdict(const struct dw_comparison *comparison);
/* The verdict as one sentence without a full stop. */
void dw_comparison_put(struct dw_out *out, const struct dw_comparison *comparison, const char *a,
                       const char *b);

#endif
