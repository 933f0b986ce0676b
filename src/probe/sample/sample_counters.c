/* SPDX-License-Identifier: MIT
 * One more counter is a measure in the list and the number that is read for it. */
#define _GNU_SOURCE
#include "probe/sample/sample_counters.h"

#include <stddef.h>
#include <sys/resource.h>

/* In the order of the table of measures. */
static const enum dw_measure measures[] = {DW_PAGE_FAULTS, DW_CONTEXT_SWITCHES,
                                           DW_INVOLUNTARY_SWITCHES};
#define COUNTERS (sizeof measures / sizeof *measures)
_Static_assert(COUNTERS <= DW_COUNTERS_MAX, "there is room for all counters");

void dw_counters_read(struct dw_counters *counters)
{
    struct rusage usage = {0};
    counters->are_read = !getrusage(RUSAGE_THREAD, &usage);
    const long read[COUNTERS] = {usage.ru_minflt + usage.ru_majflt,
                                 usage.ru_nvcsw + usage.ru_nivcsw, usage.ru_nivcsw};
    for (size_t i = 0; i < COUNTERS; i++)
        counters->numbers[i] = (uint64_t)read[i];
}

void dw_counters_between(const struct dw_counters *before, const struct dw_counters *after,
                         uint64_t added[DW_COUNTERS_MAX])
{
    for (size_t i = 0; i < COUNTERS; i++)
        added[i] = before->are_read && after->are_read ? after->numbers[i] - before->numbers[i] : 0;
}

dw_measure_mask dw_counters_measures(const uint64_t added[DW_COUNTERS_MAX],
                                     uint64_t numbers[DW_COUNTERS_MAX])
{
    dw_measure_mask mask = 0;
    for (size_t i = 0; i < COUNTERS; i++) {
        if (!added[i])
            continue;
        *numbers++ = added[i];
        mask |= DW_MASK(measures[i]);
    }
    return mask;
}
