/* SPDX-License-Identifier: MIT
 * Times in a log are ticks; how long one lasts is known when the whole log was read. */
#include "log/reading.h"

/* Buckets keep their order, so those that fall into one are neighbours. */
static void scale_histogram(struct dw_histogram *histogram, struct dw_clock_rate rate)
{
    struct dw_histogram_entry *entries = histogram->entries;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < histogram->count; i++) {
        uint32_t bucket = entries[i].bucket;
        uint64_t count = entries[i].count;
        uint64_t middle = (dw_histogram_floor(bucket) + dw_histogram_floor(bucket + 1)) / 2;
        uint32_t scaled = dw_histogram_bucket(dw_clock_scale(rate, middle));
        if (kept && entries[kept - 1].bucket == scaled)
            entries[kept - 1].count += count;
        else
            entries[kept++] = (struct dw_histogram_entry){scaled, count};
    }
    histogram->count = kept;
}

static void scale_metric(struct dw_metric *metric, struct dw_clock_rate rate)
{
    uint64_t *times[] = {&metric->total, &metric->suspended, &metric->children,
                         &metric->min,   &metric->max,       &metric->open_total};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = dw_clock_scale(rate, *times[i]);
    double ns_per_tick = (double)rate.ns_per_tick / (double)((uint64_t)1 << 56);
    double squares = (double)metric->sum_squares * ns_per_tick * ns_per_tick;
    metric->sum_squares = squares < 1.7e38 ? (unsigned __int128)squares : 0;
    scale_histogram(&metric->histogram, rate);
}

/* In the log open_total is the sum of the starts of open entries. They lasted until
 * the last sign of life. */
static void settle_open(struct dw_metric *metric, uint64_t last_tick)
{
    uint64_t lasted = metric->open * last_tick - metric->open_total;
    metric->open_total = metric->open && (int64_t)lasted > 0 ? lasted : 0;
    metric->total += metric->open_total;
}

/* Counters are sums, not times. Logs written by a merge are in nanoseconds already. */
static void settle_metrics(struct dw_profile *profile, struct dw_thread *thread,
                           struct dw_clock_rate rate)
{
    uint64_t last_tick = profile->processes[thread->process].last_clock.tick;
    for (uint32_t i = 0; i < thread->metric_count; i++) {
        struct dw_metric *metric = &thread->metrics[i].metric;
        if (dw_profile_frame(profile, thread->metrics[i].path)->kind == DW_FRAME_COUNTER)
            continue;
        settle_open(metric, last_tick);
        if (rate.ns_per_tick != (uint64_t)1 << 56)
            scale_metric(metric, rate);
    }
}

static void settle_timed(struct dw_thread *thread, const struct dw_clock_pair *epoch,
                         struct dw_clock_rate rate)
{
    for (uint32_t i = 0; i < thread->timed_count; i++)
        thread->timed[i].time_ns = dw_clock_wall_ns(epoch, rate, thread->timed[i].time_ns);
}

void dw_reading_settle(struct dw_reading *reading)
{
    struct dw_profile *profile = reading->profile;
    for (uint32_t t = reading->first_thread; t < profile->thread_count; t++) {
        struct dw_thread *thread = &profile->threads[t];
        const struct dw_process *process = &profile->processes[thread->process];
        struct dw_clock_rate rate =
            dw_clock_rate_between(&process->first_clock, &process->last_clock);
        settle_metrics(profile, thread, rate);
        settle_timed(thread, &process->first_clock, rate);
    }
}
