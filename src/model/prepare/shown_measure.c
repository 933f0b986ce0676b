/* SPDX-License-Identifier: MIT
 * A row that has the measure becomes samples: one that weighs as much when it is a time, else so
 * many. Samples that were there before are taken away. */
#include "model/prepare/shown_measure.h"

#include "base/error.h"

#include <stdlib.h>

/* A time is the weight of samples; other numbers are numbers of samples. */
static int put_shown(struct dw_value_table *into, uint32_t index, enum dw_measure measure,
                     uint64_t value)
{
    const uint64_t numbers[] = {1, value};
    return dw_measures[measure].unit == DW_UNIT_NS
               ? dw_value_row_add(into, index, DW_MASK(DW_SAMPLES) | DW_MASK(DW_WALL), numbers)
               : dw_value_row_add(into, index, DW_MASK(DW_SAMPLES), &value);
}

static int copy_row(struct dw_value_table *into, const struct dw_value_table *from,
                    struct dw_value_row row, enum dw_measure shown)
{
    uint64_t value = dw_value_get(from, &row, shown);
    uint32_t index;
    int error = dw_value_row_get(into, row.path, row.labels, &index);
    for (dw_measure_mask rest = dw_value_told(from, &row) & ~DW_SAMPLE_MASK; rest && !error;
         rest &= rest - 1) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        uint64_t number = dw_value_get(from, &row, measure);
        error = dw_value_row_add(into, index, DW_MASK(measure), &number);
    }
    return error ? error : put_shown(into, index, shown, value);
}

static int show_thread(struct dw_thread *thread, enum dw_measure measure)
{
    struct dw_value_table shown = {0};
    int error = 0;
    for (uint32_t i = 0; i < thread->values.count && !error; i++) {
        const struct dw_value_row *row = &thread->values.rows[i];
        if (dw_value_get(&thread->values, row, measure))
            error = copy_row(&shown, &thread->values, *row, measure);
    }
    dw_value_table_release(error ? &shown : &thread->values);
    if (error)
        return error;
    thread->values = shown;
    thread->timed_count = 0;
    return 0;
}

int dw_profile_show_measure(struct dw_profile *profile, enum dw_measure measure)
{
    int error = 0;
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        error = show_thread(&profile->threads[i], measure);
    for (uint32_t i = 0; i < profile->process_count; i++)
        profile->processes[i].is_sampled = false;
    profile->shown_measure = measure;
    return error;
}
