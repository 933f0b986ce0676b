/* SPDX-License-Identifier: MIT
 * Two samples by the ranks of their values: exact for few, whatever the distribution. */
#ifndef DW_BASE_RANK_TEST_H
#define DW_BASE_RANK_TEST_H

#include "base/statistics.h"

/* Two samples without pairs. */
struct dw_rank_test {
    double p;     /* Mann-Whitney, two-sided; exact for few values without ties */
    double delta; /* Cliff's: the chance that b > a less the chance that b < a */
};
int dw_stat_rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
                      struct dw_rank_test *test);

/* The centre of differences that are symmetric around it, by inverting Wilcoxon's signed-rank test:
 * the median of the means of all pairs (Hodges and Lehmann). *p becomes the test's own chance,
 * two-sided, of such differences around 0: it is at most 1 - confidence exactly when the interval
 * leaves 0 out. Exact up to 50 values. */
int dw_stat_centre(const double *differences, size_t count, double confidence,
                   struct dw_estimate *estimate, double *p);

#endif
