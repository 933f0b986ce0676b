/* SPDX-License-Identifier: MIT
 * Resampling: how much an estimate could have differed, from the sample itself. */
#ifndef DW_BASE_BOOTSTRAP_H
#define DW_BASE_BOOTSTRAP_H

#include "base/statistics.h"

/* The median of b less the median of a, by a bootstrap of the two. The same seed gives the same
 * result, and a and b exchanged give exactly the negative. */
int dw_stat_median_shift(const double *a, size_t a_count, const double *b, size_t b_count,
                         double confidence, uint64_t seed, struct dw_estimate *estimate);

#endif
