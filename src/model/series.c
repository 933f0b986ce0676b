/* SPDX-License-Identifier: MIT
 * Points come in order, so a series is an array that is searched by halves. */
#include "model/series.h"

#include "base/intern.h"
#include "model/profile.h"

#include <string.h>

void dw_series_release(struct dw_series *series)
{
    free(series->points);
    series->points = NULL;
    series->count = series->capacity = 0;
}

int dw_series_add(struct dw_series *series, uint64_t time_ns, int64_t value)
{
    if (series->count && series->points[series->count - 1].time_ns > time_ns)
        return DW_ERR_DAMAGED;
    int error = DW_GROW(series->points, series->count, series->capacity);
    if (!error)
        series->points[series->count++] = (struct dw_series_point){time_ns, value};
    return error;
}

uint32_t dw_series_index(const struct dw_series *series, uint64_t time_ns)
{
    uint32_t low = 0, high = series->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (series->points[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1; /* UINT32_MAX when there is none */
}

const struct dw_series *dw_series_find(const struct dw_profile *profile, uint32_t process,
                                       const char *name)
{
    for (uint32_t i = 0; i < profile->series_count; i++) {
        const struct dw_series *series = &profile->series[i];
        if (series->process == process && !series->thread && series->count &&
            !strcmp(dw_profile_string(profile, series->name).bytes, name))
            return series;
    }
    return NULL;
}

void dw_series_find_all(const struct dw_profile *profile, const char *name,
                        const struct dw_series **by_process)
{
    for (uint32_t i = 0; i < profile->series_count; i++) {
        const struct dw_series *series = &profile->series[i];
        if (!by_process[series->process] && !series->thread && series->count &&
            !strcmp(dw_profile_string(profile, series->name).bytes, name))
            by_process[series->process] = series;
    }
}

struct dw_series *dw_series_append(struct dw_profile *profile, const struct dw_series *like)
{
    if (DW_GROW(profile->series, profile->series_count, profile->series_capacity))
        return NULL;
    struct dw_series *series = &profile->series[profile->series_count++];
    *series = *like;
    series->points = NULL;
    series->count = series->capacity = 0;
    return series;
}

/* A point of one of several series, by how much it changes the sum. */
struct change {
    uint64_t time_ns;
    uint64_t by; /* modulo 2^64 */
};

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Returns the end of the changes. A gauge that is over is gone just after its last point. */
static struct change *put_changes(struct change *at, const struct dw_series *part)
{
    uint64_t before = part->is_total && part->count ? (uint64_t)part->points[0].value : 0;
    for (uint32_t i = 0; i < part->count; i++) {
        uint64_t value = (uint64_t)part->points[i].value;
        *at++ = (struct change){part->points[i].time_ns, value - before};
        before = value;
    }
    if (part->count && !part->is_total)
        *at++ = (struct change){part->points[part->count - 1].time_ns + 1, 0 - before};
    return at;
}

static int add_changes(const struct change *changes, size_t count, struct dw_series *sum)
{
    uint64_t value = 0;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        value += changes[i].by;
        if (i + 1 == count || changes[i + 1].time_ns > changes[i].time_ns)
            error = dw_series_add(sum, changes[i].time_ns, (int64_t)value);
    }
    return error;
}

int dw_series_sum(const struct dw_series *const *parts, size_t count, struct dw_series *sum)
{
    size_t points = 0;
    for (size_t i = 0; i < count; i++)
        points += parts[i]->count + 1u;
    struct change *changes = malloc((points + 1) * sizeof *changes), *end = changes;
    if (!changes)
        return DW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        end = put_changes(end, parts[i]);
    qsort(changes, (size_t)(end - changes), sizeof *changes, compare_changes);
    int error = add_changes(changes, (size_t)(end - changes), sum);
    free(changes);
    return error;
}

struct counter {
    uint32_t thread;
    dw_path_id path;
};

/* The counters of the timeline, while series are made of them. */
struct counters {
    struct dw_profile *profile;
    uint32_t first; /* of the series, which are in the order of the counters */
    struct counter *counters;
    uint32_t count, capacity;
    struct dw_map index;
};

/* The series of a counter, made when absent; NULL when out of memory. */
static struct dw_series *series_of(struct counters *counters, uint32_t thread, dw_path_id path)
{
    struct dw_profile *profile = counters->profile;
    struct counter counter = {thread, path};
    uint32_t id, known = counters->count;
    if (DW_INTERN(counters->counters, counters->count, counters->capacity, counters->index,
                  sizeof counter, &counter, &id))
        return NULL;
    if (id < known)
        return &profile->series[counters->first + id];
    return dw_series_append(profile,
                            &(struct dw_series){.process = profile->threads[thread].process,
                                                .thread = thread + 1,
                                                .name = dw_profile_frame(profile, path)->name});
}

static int add_block(struct counters *counters, const struct dw_event_block *block)
{
    struct dw_event_reader reader;
    struct dw_event event;
    int error = dw_event_reader_init(&reader, counters->profile, block);
    if (error)
        return error == DW_ERR_DAMAGED ? 0 : error;
    while (!error && dw_event_next(&reader, &event)) {
        if (event.kind != DW_EVENT_COUNTER)
            continue;
        struct dw_series *series = series_of(counters, block->thread, event.path);
        error = series ? dw_series_add(series, event.time_ns, event.value) : DW_ERR_MEMORY;
        if (error == DW_ERR_DAMAGED) /* of clocks that do not agree */
            error = 0;
    }
    dw_event_reader_release(&reader);
    return error;
}

int dw_series_add_counters(struct dw_profile *profile)
{
    struct counters counters = {.profile = profile, .first = profile->series_count};
    int error = 0;
    for (uint32_t i = 0; i < profile->block_count && !error; i++)
        error = add_block(&counters, &profile->blocks[i]);
    free(counters.counters);
    dw_map_release(&counters.index);
    return error;
}
