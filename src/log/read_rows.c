/* SPDX-License-Identifier: MIT
 * Rows of values and what they speak of. The numbers of a row are absolute, so the latest one
 * counts and a lost chunk costs nothing for long. */
#include "base/grow.h"
#include "log/copied_rows.h"
#include "log/reading.h"
#include "model/moments.h"

#include <string.h>

int dw_read_measures(struct dw_reading *reading, struct dw_cursor *cursor)
{
    while (!cursor->bad && cursor->at < cursor->end) {
        char name[64] = "";
        size_t size;
        uint32_t number = dw_cursor_get_u32(cursor);
        const uint8_t *bytes = dw_cursor_get_blob(cursor, &size);
        uint64_t unit = dw_cursor_get(cursor);
        dw_cursor_get(cursor); /* how values add up: of a known measure that is known */
        if (cursor->bad || number >= DW_MEASURES_MAX)
            return DW_ERR_DAMAGED;
        if (size < sizeof name)
            memcpy(name, bytes, size);
        reading->measures[number] =
            (struct dw_log_measure){dw_measure_find(name), unit == DW_UNIT_TICKS};
        if (reading->measures[number].measure == number)
            reading->own_measures |= DW_MASK(number);
    }
    return 0;
}

int dw_read_labels(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    while (!cursor->bad && cursor->at < cursor->end) {
        struct dw_label pairs[DW_LABELS_MAX];
        uint32_t state = dw_cursor_get_u32(cursor), count = dw_cursor_get_u32(cursor);
        if (count > DW_LABELS_MAX)
            return DW_ERR_DAMAGED;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t key = dw_cursor_get_u32(cursor), value = dw_cursor_get_u32(cursor);
            pairs[i].key = dw_id_map_get(&reading->strings, key, reading->lost_string);
            pairs[i].value = dw_id_map_get(&reading->strings, value, reading->lost_string);
        }
        if (cursor->bad)
            break;
        dw_labels_id set;
        int error = dw_labels_intern(&reading->profile->labels, state, pairs, count, &set);
        if (!error)
            error = dw_id_map_set(reading, &reading->labels, id++, set, DW_LABELS_NONE);
        if (error)
            return error;
    }
    return 0;
}

int dw_reading_row(struct dw_reading *reading, uint32_t thread, dw_path_id path,
                   dw_labels_id labels, bool is_new, uint32_t *row)
{
    struct dw_value_table *values = &reading->profile->threads[thread].values;
    uint32_t before = values->count;
    if (!reading->limits->rows)
        return DW_ERR_TOO_LARGE;
    int error = is_new ? dw_value_row_append(values, path, labels, row)
                       : dw_value_row_get(values, path, labels, row);
    reading->limits->rows -= values->count - before;
    return error;
}

int dw_read_spread(struct dw_cursor *cursor, struct dw_spread *spread)
{
    uint64_t low = dw_cursor_get(cursor), bucket = 0;
    spread->sum_squares = (unsigned __int128)dw_cursor_get(cursor) << 64 | low;
    uint64_t count = dw_cursor_get(cursor);
    if (cursor->bad || count > (uint64_t)(cursor->end - cursor->at) / 2)
        return DW_ERR_DAMAGED;
    if (dw_histogram_reserve(&spread->histogram, (uint32_t)count))
        return DW_ERR_MEMORY;
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        bucket += dw_cursor_get_u32(cursor);
        uint64_t hits = dw_cursor_get(cursor);
        if (cursor->bad || bucket >= DW_HISTOGRAM_BUCKETS)
            return DW_ERR_DAMAGED;
        int error = dw_histogram_set(&spread->histogram, (uint32_t)bucket, hits);
        if (error)
            return error;
    }
    return 0;
}

/* The numbers of the measures that we know, in our order: a log may have another. */
static dw_measure_mask read_numbers(struct dw_reading *reading, struct dw_cursor *cursor,
                                    uint64_t numbers[DW_MEASURES])
{
    uint64_t dense[DW_MEASURES];
    dw_measure_mask mask = 0, in_log = dw_cursor_get(cursor);
    for (; in_log; in_log &= in_log - 1) {
        const struct dw_log_measure *of = &reading->measures[__builtin_ctzll(in_log)];
        uint64_t number = dw_cursor_get(cursor);
        if (of->measure >= DW_MEASURES)
            continue;
        dense[of->measure] = number;
        mask |= DW_MASK(of->measure);
        if (of->in_ticks)
            reading->in_ticks |= DW_MASK(of->measure);
    }
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1)
        *numbers++ = dense[__builtin_ctzll(rest)];
    return mask;
}

/* Rows come in the order of their keys each time that the program has written some: as long as the
 * keys rise, there is nothing to look for. */
static bool is_beyond(struct dw_value_table *values, uint32_t path, uint32_t labels)
{
    uint64_t key = (uint64_t)path << 32 | labels;
    bool is_first = !values->count || key > values->last_key;
    if (is_first)
        values->last_key = key;
    return is_first;
}

int dw_reading_note_alive(struct dw_reading *reading, uint32_t index, uint32_t row,
                          dw_measure_mask mask, const uint64_t *before, const uint64_t *numbers)
{
    struct dw_thread *thread = &reading->profile->threads[index];
    uint32_t count = thread->change_count;
    if (reading->limits->changes < DW_MEASURES)
        return DW_ERR_TOO_LARGE;
    int error = dw_moments_note_row(reading->profile, thread, row, mask, before, numbers);
    reading->limits->changes -= thread->change_count - count;
    return error;
}

static int note_changes(struct dw_reading *reading, uint32_t thread, uint32_t index,
                        dw_measure_mask mask, const uint64_t *numbers)
{
    const struct dw_value_table *values = &reading->profile->threads[thread].values;
    uint64_t before[DW_MEASURES];
    for (dw_measure_mask rest = DW_ALIVE_MASK; rest; rest &= rest - 1) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        before[measure] = dw_value_get(values, &values->rows[index], measure);
    }
    return dw_reading_note_alive(reading, thread, index, mask, before, numbers);
}

int dw_reading_logged_row(struct dw_reading *reading, uint32_t thread, uint32_t path,
                          uint64_t labels, uint32_t *row)
{
    uint32_t set = labels < UINT32_MAX ? (uint32_t)labels : UINT32_MAX;
    bool is_new = is_beyond(&reading->profile->threads[thread].values, path, set);
    return dw_reading_row(reading, thread, dw_path_map_get(dw_reading_paths(reading), path),
                          dw_id_map_get(&reading->labels, set, DW_LABELS_NONE), is_new, row);
}

/* Leaves out what is 0 if it is not there; returns what is left. */
static dw_measure_mask drop_zeros(dw_measure_mask known, dw_measure_mask mask, uint64_t *numbers)
{
    dw_measure_mask kept = 0;
    uint64_t *to = numbers;
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1, numbers++)
        if (*numbers || (known | ~DW_SPARSE_MASK) & rest & -rest) {
            kept |= rest & -rest;
            *to++ = *numbers;
        }
    return kept;
}

/* Each probe tells of its own measures; a row keeps what others have told of it. */
static int read_row(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t thread)
{
    uint64_t numbers[DW_MEASURES];
    uint32_t row, path = dw_cursor_get_u32(cursor);
    uint64_t head = dw_cursor_get(cursor);
    dw_measure_mask mask = read_numbers(reading, cursor, numbers);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    int error = dw_reading_logged_row(reading, thread, path, head >> 1, &row);
    struct dw_value_table *values = &reading->profile->threads[thread].values;
    if (!error && dw_reading_has_moments(reading) && mask & DW_ALIVE_MASK)
        error = note_changes(reading, thread, row, mask, numbers);
    if (!error) {
        values->mask |= mask;
        mask = drop_zeros(values->rows[row].mask, mask, numbers);
        error = dw_value_row_set(values, row, mask, numbers);
    }
    if (error || !(head & 1))
        return error;
    struct dw_spread *spread = dw_value_row_spread(values, row);
    return spread ? dw_read_spread(cursor, spread) : DW_ERR_MEMORY;
}

int dw_read_rows(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t thread;
    int error = dw_reading_thread(reading, cursor, &thread);
    while (!error && !cursor->bad && cursor->at < cursor->end)
        error = reading->copies ? dw_copied_row_read(reading, cursor, thread)
                                : read_row(reading, cursor, thread);
    return error;
}

/* The times are of the monotonic clock, whatever ticks the process has. */
int dw_read_timed_rows(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index;
    int error = dw_reading_thread(reading, cursor, &index);
    if (error)
        return error;
    const struct dw_thread *thread = &reading->profile->threads[index];
    const struct dw_clock_pair *epoch = &reading->profile->processes[thread->process].first_clock;
    uint64_t now_ns = dw_cursor_get(cursor);
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        now_ns += dw_cursor_get(cursor);
        struct dw_timed_sample sample = {
            .time_ns = epoch->wall_ns + (now_ns - epoch->monotonic_ns),
            .path = dw_reading_path(reading, cursor),
        };
        sample.labels = dw_id_map_get(&reading->labels, dw_cursor_get_u32(cursor), DW_LABELS_NONE);
        sample.weight_ns = dw_cursor_get(cursor);
        if (!cursor->bad)
            error = dw_reading_timed(reading, index, &sample);
    }
    return error;
}
