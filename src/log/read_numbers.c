/* SPDX-License-Identifier: MIT
 * What was measured: values of paths, lines, timings. */
#include "log/reading.h"

#include "base/grow.h"

#define VALUES_NUMBERS 9 /* of the measures from DW_COUNT to DW_OPEN_TOTAL, in their order */

/* Rows as older versions wrote them. Whether they are of regions or of calls is seen at the end, by
 * read_settle.c. */
static int read_value(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t thread)
{
    uint64_t numbers[VALUES_NUMBERS];
    uint32_t row;
    dw_path_id path = dw_reading_path(reading, cursor);
    for (size_t i = 0; i < VALUES_NUMBERS; i++)
        numbers[i] = dw_cursor_get(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    int error = dw_reading_row(reading, thread, path, DW_LABELS_NONE, false, &row);
    struct dw_value_table *values = &reading->profile->threads[thread].values;
    if (!error)
        error = dw_value_row_set(values, row, DW_ENTRY_MASK, numbers);
    struct dw_spread *spread = error ? NULL : dw_value_row_spread(values, row);
    return error ? error : spread ? dw_read_spread(cursor, spread) : DW_ERR_MEMORY;
}

int dw_read_values(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t thread;
    int error = dw_reading_thread(reading, cursor, &thread);
    reading->has_values = true;
    reading->in_ticks |= DW_TICK_MASK;
    while (!error && !cursor->bad && cursor->at < cursor->end)
        error = read_value(reading, cursor, thread);
    return error;
}

/* A metric that a later version may add is skipped. */
static void read_line_values(struct dw_cursor *cursor, uint64_t values[DW_LINE_METRICS])
{
    uint64_t mask = dw_cursor_get(cursor);
    memset(values, 0, DW_LINE_METRICS * sizeof *values);
    for (size_t i = 0; mask && !cursor->bad; i++, mask >>= 1) {
        uint64_t value = mask & 1 ? dw_cursor_get(cursor) : 0;
        if (i < DW_LINE_METRICS)
            values[i] = value;
    }
}

int dw_read_lines(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t process;
    int error = dw_reading_process(reading, cursor, &process);
    if (error)
        return error;
    while (!cursor->bad && cursor->at < cursor->end) {
        dw_frame_id function =
            dw_id_map_get(&reading->frames, dw_cursor_get_u32(cursor), reading->lost_frame);
        uint32_t number = dw_cursor_get_u32(cursor), callee = dw_cursor_get_u32(cursor);
        uint64_t values[DW_LINE_METRICS];
        read_line_values(cursor, values);
        if (cursor->bad)
            break;
        if (!reading->limits->lines)
            return DW_ERR_TOO_LARGE;
        if (callee && !(callee = dw_id_map_get(&reading->frames, callee, 0)))
            callee = reading->lost_frame;
        uint32_t before = reading->lines.count;
        struct dw_line *line = dw_line_get(&reading->lines, function, number, callee);
        reading->limits->lines -= reading->lines.count - before;
        if (!line)
            return DW_ERR_MEMORY;
        memcpy(line->values, values, sizeof values);
    }
    return 0;
}

static int read_runs(struct dw_cursor *cursor, struct dw_timing *timing)
{
    uint64_t count = dw_cursor_get(cursor);
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        int error = DW_GROW(timing->runs_ns, timing->run_count, timing->run_capacity);
        if (error)
            return error;
        timing->runs_ns[timing->run_count++] = dw_cursor_get(cursor);
    }
    return cursor->bad ? DW_ERR_DAMAGED : 0;
}

static int read_timing_into(struct dw_reading *reading, struct dw_cursor *cursor,
                            struct dw_timing *timing)
{
    struct dw_profile *profile = reading->profile;
    int error = dw_reading_process(reading, cursor, &timing->process);
    if (!error)
        error = dw_reading_name(reading, cursor, &timing->name);
    if (!error)
        error = dw_reading_properties(reading, cursor, &timing->properties, &timing->property_count,
                                      &timing->property_capacity);
    timing->loops = dw_cursor_get(cursor);
    if (!error)
        error = read_runs(cursor, timing);
    if (!error && (!timing->loops || !timing->run_count))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = DW_GROW(profile->timings, profile->timing_count, profile->timing_capacity);
    if (!error)
        profile->timings[profile->timing_count++] = *timing;
    return error;
}

int dw_read_timing(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_timing timing = {0};
    int error = read_timing_into(reading, cursor, &timing);
    if (error)
        dw_timing_release(&timing);
    return error;
}
