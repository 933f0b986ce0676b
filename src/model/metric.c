/* SPDX-License-Identifier: MIT
 * The spread of durations comes from the sum of their squares, percentiles from the histogram. */
#include "model/metric.h"

#include <math.h>

void dw_metric_release(struct dw_metric *metric)
{
    dw_histogram_release(&metric->histogram);
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
    into->sum_squares += from->sum_squares;
    return dw_histogram_merge(&into->histogram, &from->histogram);
}

double dw_metric_stdev(const struct dw_metric *metric)
{
    if (metric->count < 2) /* rounding would else make something of nothing */
        return 0;
    double count = (double)metric->count;
    double mean = (double)(metric->total - metric->open_total) / count;
    double variance = (double)metric->sum_squares / count - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

uint64_t dw_metric_quantile(const struct dw_metric *metric, double fraction)
{
    uint64_t value = dw_histogram_quantile(&metric->histogram, fraction);
    return value < metric->min ? metric->min : value > metric->max ? metric->max : value;
}
