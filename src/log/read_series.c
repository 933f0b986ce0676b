/* SPDX-License-Identifier: MIT
 * A chunk of readings says itself what they are of, so that a lost one costs only its own. */
#include "log/reading.h"

#include "base/error.h"
#include "base/varint.h"

/* The gauges of one chunk. */
struct columns {
    uint32_t count;
    uint32_t series[DW_GAUGES_MAX]; /* indexes */
    uint64_t quanta[DW_GAUGES_MAX];
    uint64_t values[DW_GAUGES_MAX]; /* in quanta */
};

static uint64_t hash_series(const struct dw_series *series)
{
    return dw_hash_mix(dw_hash_mix((uint64_t)series->process << 32 | series->thread) ^
                       series->name);
}

static bool is_same(const void *entries, uint32_t id, const void *key)
{
    const struct dw_series *a = (const struct dw_series *)entries + id, *b = key;
    return a->process == b->process && a->thread == b->thread && a->name == b->name;
}

/* The series of the stream like that one, made when absent. */
static int find_series(struct dw_reading *reading, const struct dw_series *like, uint32_t *index)
{
    struct dw_profile *profile = reading->profile;
    uint64_t hash = hash_series(like);
    *index = dw_map_find(&reading->series, hash, is_same, profile->series, like);
    if (*index != DW_MAP_NONE)
        return 0;
    if (!dw_series_append(profile, like))
        return DW_ERR_MEMORY;
    *index = profile->series_count - 1;
    return dw_map_put(&reading->series, hash, *index);
}

static int read_column(struct dw_reading *reading, struct dw_cursor *cursor,
                       struct dw_series series, struct columns *columns)
{
    int error = dw_reading_name(reading, cursor, &series.name);
    uint64_t head = dw_cursor_get(cursor), quantum = dw_cursor_get(cursor);
    if (error)
        return error;
    if (cursor->bad || head >> 1 >= DW_UNITS || head >> 1 == DW_UNIT_TICKS || !quantum)
        return DW_ERR_DAMAGED;
    series.unit = (enum dw_unit)(head >> 1);
    series.is_total = head & 1;
    columns->quanta[columns->count] = quantum;
    columns->values[columns->count] = 0;
    return find_series(reading, &series, &columns->series[columns->count++]);
}

static int read_columns(struct dw_reading *reading, struct dw_cursor *cursor,
                        struct columns *columns, uint32_t *process)
{
    struct dw_series series = {0};
    bool is_of_thread = dw_cursor_get(cursor);
    int error = is_of_thread ? dw_reading_thread(reading, cursor, &series.thread)
                             : dw_reading_process(reading, cursor, &series.process);
    if (!error && is_of_thread)
        series.process = reading->profile->threads[series.thread++].process;
    *process = series.process;
    uint64_t count = dw_cursor_get(cursor);
    if (!error && (cursor->bad || count > DW_GAUGES_MAX))
        error = DW_ERR_DAMAGED;
    while (!error && columns->count < count)
        error = read_column(reading, cursor, series, columns);
    return error;
}

static int read_values(struct dw_reading *reading, struct dw_cursor *cursor,
                       struct columns *columns, uint64_t time_ns)
{
    int error = 0;
    for (uint32_t i = 0; i < columns->count; i++)
        columns->values[i] += (uint64_t)dw_unzigzag(dw_cursor_get(cursor));
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    if (reading->limits->points < columns->count)
        return DW_ERR_TOO_LARGE;
    reading->limits->points -= columns->count;
    for (uint32_t i = 0; i < columns->count && !error; i++)
        error = dw_series_add(&reading->profile->series[columns->series[i]], time_ns,
                              (int64_t)(columns->values[i] * columns->quanta[i]));
    return error;
}

/* Times are of the monotonic clock, whatever ticks the process has. */
int dw_read_series(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct columns columns = {0};
    uint32_t process;
    int error = read_columns(reading, cursor, &columns, &process);
    if (error)
        return error;
    const struct dw_clock_pair *epoch = &reading->profile->processes[process].first_clock;
    uint64_t now_ns = dw_cursor_get(cursor) - epoch->monotonic_ns + epoch->wall_ns;
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        now_ns += dw_cursor_get(cursor) * 1000;
        error = read_values(reading, cursor, &columns, now_ns);
    }
    return error;
}
