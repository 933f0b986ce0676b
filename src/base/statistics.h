/* SPDX-License-Identifier: MIT
 * Statistics of small samples of positive numbers, such as repeated measurements.
 * Nothing here supposes a normal distribution: measurements have long tails. */
#ifndef DW_BASE_STATISTICS_H
#define DW_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_interval {
    double low, high;
};

struct dw_estimate {
    double value;
    struct dw_interval interval; /* from -INFINITY to INFINITY when there are too few values */
};

/* Ascending. */
void dw_stat_sort(double *values, size_t count);
/* Between the two nearest values in proportion; `fraction` is 0 to 1, count at least 1. */
double dw_stat_quantile(const double *sorted, size_t count, double fraction);
/* How many standard deviations hold that part of a normal distribution, on both sides. */
double dw_stat_normal_width(double confidence);
/* The chance of being that many standard deviations off, on either side. */
double dw_stat_normal_tails(double deviations);

/* Values more than this many median absolute deviations from the median are outliers:
 * ten standard deviations, if the others were normal. */
#define DW_STAT_OUTLIER_MADS 14.826

struct dw_summary {
    double mean, stdev; /* of the population: divided by count, not count - 1 */
    double min, q1, median, q3, max;
    double mad;                         /* median absolute deviation from the median */
    struct dw_interval median_interval; /* by order statistics, so for any distribution */
    double interval_confidence;         /* of that interval, in steps; 0 for one value */
    bool is_bounded;                    /* it is as sure as was asked for; else min to max */
    size_t outliers;
    double trend_p; /* Mann-Kendall: the chance of such a trend when there is none */
    double trend;   /* the last third's median to the first third's, less one */
    bool is_bimodal;
};

/* The values in the order in which they were measured; at least one. 0 or DW_ERR_MEMORY. */
int dw_stat_summarize(const double *values, size_t count, double confidence,
                      struct dw_summary *summary);

/* The sum of a term over the groups of equal values, for corrections of ranks. */
double dw_sum_over_ties(const double *sorted, size_t count, double (*term)(double ties));

#endif
