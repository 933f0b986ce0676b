/* SPDX-License-Identifier: MIT
 * What was measured on one path of one thread. In a profile the times are
 * nanoseconds; in a log they are ticks, which the reader scales once it knows
 * the clock's rate. CPU time is always nanoseconds. */
#ifndef DW_MODEL_METRIC_H
#define DW_MODEL_METRIC_H

#include "model/histogram.h"
#include "model/measure.h"

#include <stdbool.h>

struct dw_metric {
    union {
        struct {
            uint64_t count;     /* completed entries */
            uint64_t total;     /* wall time of completed and still open entries */
            uint64_t suspended; /* the part of total in which a generator or task slept */
            uint64_t children;  /* active time of completed entries directly inside */
            uint64_t cpu;       /* CPU time of completed entries, when it was asked for */
            uint64_t min;       /* of completed entries; 0 when there are none */
            uint64_t max;
            uint64_t open;       /* entries that had not ended when the log was last written */
            uint64_t open_total; /* the part of total that belongs to them */
        };
        uint64_t numbers[DW_OPEN_TOTAL + 1]; /* the same by measure */
    };
    struct dw_spread *spread; /* of completed entries; NULL when it is not known */
    bool owns_spread;         /* else it is borrowed, and not to be changed */
};

void dw_metric_release(struct dw_metric *metric);
/* A spread that is borrowed is borrowed on, as long as there is no other to add to it. */
int dw_metric_merge(struct dw_metric *into, const struct dw_metric *from);
/* Standard deviation of the completed entries (population), in nanoseconds. */
double dw_metric_stdev(const struct dw_metric *metric);
/* A percentile of the completed entries, within [min, max]. */
uint64_t dw_metric_quantile(const struct dw_metric *metric, double fraction);
/* Mean duration of the completed entries. */
static inline uint64_t dw_metric_average(const struct dw_metric *metric)
{
    bool has_ended = metric->count && metric->total > metric->open_total;
    return has_ended ? (metric->total - metric->open_total) / metric->count : 0;
}
static inline uint64_t dw_metric_active(const struct dw_metric *metric)
{
    return metric->total > metric->suspended ? metric->total - metric->suspended : 0;
}

#endif
