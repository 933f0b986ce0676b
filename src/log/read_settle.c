/* SPDX-License-Identifier: MIT
 * What is known only when a whole stream was read: how long a tick is, until when entries were
 * open, and, of rows that older versions wrote, what they were measured of. */
#include "log/reading.h"

#define SAME_RATE ((uint64_t)1 << 56) /* a tick is a nanosecond */
/* What rows of older versions have until they are settled, exactly. */
#define OLD_ENTRY DW_ENTRY_MASK
#define OLD_SAMPLES (DW_MASK(DW_SAMPLES) | DW_MASK(DW_CPU))

/* Buckets keep their order, so those that fall into one are neighbours. */
static void scale_histogram(struct dw_histogram *histogram, struct dw_clock_rate rate)
{
    struct dw_histogram_entry *entries = dw_histogram_entries(histogram);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < histogram->count; i++) {
        uint32_t bucket = entries[i].bucket;
        uint64_t count = entries[i].count;
        uint64_t middle = (dw_histogram_floor(bucket) + dw_histogram_floor(bucket + 1)) / 2;
        uint32_t scaled = dw_histogram_bucket(dw_clock_scale(rate, middle));
        if (kept && entries[kept - 1].bucket == scaled)
            count += entries[--kept].count;
        entries[kept++] = dw_histogram_entry(scaled, count);
    }
    histogram->count = kept;
}

static void scale_spread(struct dw_spread *spread, struct dw_clock_rate rate)
{
    double ns_per_tick = (double)rate.ns_per_tick / (double)SAME_RATE;
    double squares = (double)spread->sum_squares * ns_per_tick * ns_per_tick;
    spread->sum_squares = squares < 1.7e38 ? (unsigned __int128)squares : 0;
    scale_histogram(&spread->histogram, rate);
}

static void scale_row(struct dw_value_table *values, const struct dw_value_row *row,
                      dw_measure_mask in_ticks, struct dw_clock_rate rate)
{
    uint64_t *at = values->numbers ? &values->numbers[row->first] : NULL;
    for (dw_measure_mask rest = row->mask; rest && at; rest &= rest - 1, at++)
        if (rest & -rest & in_ticks)
            *at = dw_clock_scale(rate, *at);
    if (row->spread)
        scale_spread(&values->spreads[row->spread - 1], rate);
}

/* In the log the open total is the sum of the starts of open entries. They lasted until the last
 * sign of life. */
static void settle_open(struct dw_value_table *values, const struct dw_value_row *row,
                        uint64_t last_tick)
{
    uint64_t *open_total = dw_value_at(values, row, DW_OPEN_TOTAL);
    if (!open_total || !*open_total)
        return;
    uint64_t *total = dw_value_at(values, row, DW_TOTAL);
    uint64_t open = dw_value_get(values, row, DW_OPEN);
    uint64_t lasted = open * last_tick - *open_total;
    *open_total = open && (int64_t)lasted > 0 ? lasted : 0;
    if (total)
        *total += *open_total;
}

static bool is_call(uint32_t kind)
{
    return kind == DW_FRAME_FUNCTION || kind == DW_FRAME_BUILTIN;
}

static bool has_calls(const struct dw_profile *profile, const struct dw_value_table *values)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (values->rows[i].mask & DW_ENTRY_MASK &&
            is_call(dw_profile_path_frame(profile, values->rows[i].path)->kind))
            return true;
    return false;
}

/* The first four measures of entries are those of calls, which have no others. */
static void make_call(struct dw_value_row *row)
{
    row->mask = (row->mask & (DW_CALL_MASK >> DW_CALLS)) << DW_CALLS;
    row->spread = 0;
}

/* Weights were taken for CPU time. */
static void settle_weight(struct dw_value_row *row, enum dw_sample_mode mode)
{
    dw_measure_mask weight = mode == DW_SAMPLE_WALL  ? DW_MASK(DW_WALL)
                             : mode == DW_SAMPLE_CPU ? DW_MASK(DW_CPU)
                                                     : 0;
    row->mask = DW_MASK(DW_SAMPLES) | weight;
}

/* Rows of older versions say neither what they are of, nor what their weights are. Masks are
 * changed in place, so they must not name more numbers than the row has. */
static void settle_kinds(const struct dw_profile *profile, struct dw_thread *thread)
{
    struct dw_value_table *values = &thread->values;
    const struct dw_process *process = &profile->processes[thread->process];
    bool are_calls = has_calls(profile, values);
    values->mask = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        struct dw_value_row *row = &values->rows[i];
        if (row->mask == OLD_SAMPLES)
            settle_weight(row, process->is_sampled ? process->sampling.mode : DW_SAMPLE_CPU);
        else if (row->mask == OLD_ENTRY && are_calls &&
                 (row->path == DW_PATH_ROOT ||
                  is_call(dw_profile_path_frame(profile, row->path)->kind)))
            make_call(row);
        values->mask |= row->mask;
    }
}

/* Counters are sums and no times. */
static void settle_values(struct dw_reading *reading, struct dw_thread *thread,
                          struct dw_clock_rate rate)
{
    const struct dw_profile *profile = reading->profile;
    struct dw_value_table *values = &thread->values;
    uint64_t last_tick = profile->processes[thread->process].last_clock.tick;
    for (uint32_t i = 0; i < values->count; i++) {
        const struct dw_value_row *row = &values->rows[i];
        if (!(row->mask & DW_ENTRY_MASK) ||
            dw_profile_path_frame(profile, row->path)->kind == DW_FRAME_COUNTER)
            continue;
        settle_open(values, row, last_tick);
        if (rate.ns_per_tick != SAME_RATE)
            scale_row(values, row, reading->in_ticks, rate);
    }
    if (reading->has_values)
        settle_kinds(profile, thread);
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
    for (uint32_t i = reading->first_process; i < profile->process_count; i++)
        profile->processes[i].has_ticks = reading->copies;
    if (reading->copies)
        return;
    for (uint32_t t = reading->first_thread; t < profile->thread_count; t++) {
        struct dw_thread *thread = &profile->threads[t];
        const struct dw_process *process = &profile->processes[thread->process];
        struct dw_clock_rate rate =
            dw_clock_rate_between(&process->first_clock, &process->last_clock);
        settle_values(reading, thread, rate);
        if (reading->has_ticked_samples)
            settle_timed(thread, &process->first_clock, rate);
    }
}
