/* SPDX-License-Identifier: MIT
 * The spread of durations comes from the sum of their squares, percentiles from the histogram. */
#include "model/metric.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

void dw_metric_release(struct dw_metric *metric)
{
    if (!metric->owns_spread)
        return;
    dw_histogram_release(&metric->spread->histogram);
    free(metric->spread);
}

/* Gives the metric a copy of the spread that it borrows, or an empty one. */
static int own_spread(struct dw_metric *metric)
{
    struct dw_spread *own = calloc(1, sizeof *own);
    if (!own)
        return DW_ERR_MEMORY;
    int error = metric->spread ? dw_spread_merge(own, metric->spread) : 0;
    metric->spread = own;
    metric->owns_spread = true;
    return error;
}

static int merge_spread(struct dw_metric *into, const struct dw_metric *from)
{
    if (!from->spread)
        return 0;
    if (!into->spread && !from->owns_spread) {
        into->spread = from->spread;
        return 0;
    }
    int error = into->owns_spread ? 0 : own_spread(into);
    return error ? error : dw_spread_merge(into->spread, from->spread);
}

int dw_metric_merge(struct dw_metric *into, const struct dw_metric *from)
{
    if (from->count && (!into->count || from->min < into->min))
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->total += from->total;
    into->suspended += from->suspended;
    into->children += from->children;
    into->cpu += from->cpu;
    into->open += from->open;
    into->open_total += from->open_total;
    return merge_spread(into, from);
}

double dw_metric_stdev(const struct dw_metric *metric)
{
    if (metric->count < 2 || !metric->spread) /* rounding would else make something of nothing */
        return 0;
    double count = (double)metric->count;
    double mean = (double)(metric->total - metric->open_total) / count;
    double variance = (double)metric->spread->sum_squares / count - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

uint64_t dw_metric_quantile(const struct dw_metric *metric, double fraction)
{
    uint64_t value =
        metric->spread ? dw_histogram_quantile(&metric->spread->histogram, fraction) : 0;
    return value < metric->min ? metric->min : value > metric->max ? metric->max : value;
}
