/* SPDX-License-Identifier: MIT
 * The entries that are not empty, in the order of their buckets. */
#include "model/histogram.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void dw_histogram_release(struct dw_histogram *histogram)
{
    if (histogram->capacity)
        free(histogram->entries);
    *histogram = (struct dw_histogram){0};
}

int dw_histogram_reserve(struct dw_histogram *histogram, uint32_t count)
{
    if (count <= 1 || histogram->capacity >= count)
        return 0;
    struct dw_histogram_entry only = *dw_histogram_entries(histogram), *entries;
    entries = realloc(histogram->capacity ? histogram->entries : NULL, count * sizeof *entries);
    if (!entries)
        return DW_ERR_MEMORY;
    if (!histogram->capacity)
        *entries = only;
    histogram->entries = entries;
    histogram->capacity = count;
    return 0;
}

static int make_room(struct dw_histogram *histogram)
{
    uint32_t room = histogram->capacity ? histogram->capacity : 1;
    return histogram->count < room ? 0 : dw_histogram_reserve(histogram, 2 * room);
}

/* The entry of the bucket, made with count 0 when absent; NULL when out of memory. */
static struct dw_histogram_entry *entry_of(struct dw_histogram *histogram, uint32_t bucket)
{
    struct dw_histogram_entry *entries = dw_histogram_entries(histogram);
    uint32_t low = 0, high = histogram->count;
    if (high && entries[high - 1].bucket < bucket)
        low = high; /* they come in order, mostly */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (entries[middle].bucket < bucket)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < histogram->count && entries[low].bucket == bucket)
        return &entries[low];
    if (make_room(histogram))
        return NULL;
    struct dw_histogram_entry *entry = dw_histogram_entries(histogram) + low;
    memmove(entry + 1, entry, (histogram->count - low) * sizeof *entry);
    histogram->count++;
    *entry = dw_histogram_entry(bucket, 0);
    return entry;
}

int dw_histogram_set(struct dw_histogram *histogram, uint32_t bucket, uint64_t count)
{
    struct dw_histogram_entry *entry = entry_of(histogram, bucket);
    if (!entry)
        return DW_ERR_MEMORY;
    *entry = dw_histogram_entry(bucket, count);
    return 0;
}

int dw_histogram_add(struct dw_histogram *histogram, uint32_t bucket, uint64_t count)
{
    struct dw_histogram_entry *entry = entry_of(histogram, bucket);
    if (!entry)
        return DW_ERR_MEMORY;
    *entry = dw_histogram_entry(bucket, entry->count + count);
    return 0;
}

int dw_histogram_merge(struct dw_histogram *into, const struct dw_histogram *from)
{
    const struct dw_histogram_entry *entries = dw_histogram_entries(from);
    for (uint32_t i = 0; i < from->count; i++) {
        int error = dw_histogram_add(into, entries[i].bucket, entries[i].count);
        if (error)
            return error;
    }
    return 0;
}

int dw_spread_merge(struct dw_spread *into, const struct dw_spread *from)
{
    into->sum_squares += from->sum_squares;
    return dw_histogram_merge(&into->histogram, &from->histogram);
}

uint64_t dw_histogram_quantile(const struct dw_histogram *histogram, double fraction)
{
    const struct dw_histogram_entry *entries = dw_histogram_entries(histogram);
    uint64_t total = 0;
    for (uint32_t i = 0; i < histogram->count; i++)
        total += entries[i].count;
    double wanted = fraction * (double)total;
    double below = 0;
    for (uint32_t i = 0; i < histogram->count; i++) {
        const struct dw_histogram_entry *entry = &entries[i];
        double above = below + (double)entry->count;
        if (above >= wanted && entry->count) {
            uint64_t floor = dw_histogram_floor(entry->bucket);
            uint64_t width = dw_histogram_floor(entry->bucket + 1) - floor;
            double share = (wanted - below) / (double)entry->count;
            return floor + (uint64_t)(share * (double)width);
        }
        below = above;
    }
    return 0;
}
