/* SPDX-License-Identifier: MIT
 * What the kernel counts of a thread beside its CPU time. A sample gets what was added since the
 * thread's sample before it. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_COUNTERS_H
#define DW_PROBE_SAMPLE_SAMPLE_COUNTERS_H

#include "model/measure.h"

#define DW_COUNTERS_MAX 4

struct dw_counters {
    bool are_read;
    uint64_t numbers[DW_COUNTERS_MAX];
};

/* Those of this thread, now. [signal-safe] */
void dw_counters_read(struct dw_counters *counters);
/* What was added between two readings; nothing when one of them is missing. [signal-safe] */
void dw_counters_between(const struct dw_counters *before, const struct dw_counters *after,
                         uint64_t added[DW_COUNTERS_MAX]);
/* The same numbers as those of a row: the measures that are not 0, and their numbers. */
dw_measure_mask dw_counters_measures(const uint64_t added[DW_COUNTERS_MAX],
                                     uint64_t numbers[DW_COUNTERS_MAX]);

#endif
