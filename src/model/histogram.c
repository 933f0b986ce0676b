/* SPDX-License-Identifier: MIT
 * The entries that are not empty, in the order of their buckets. */
#include "model/histogram.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void dw_histogram_release(struct dw_histogram *histogram)
{
    free(histogram->entries);
    *histogram = (struct dw_histogram){0};
}

/* Most paths have one bucket or two, and there may be a million of them. */
static int make_room(struct dw_histogram *histogram)
{
    if (histogram->count < histogram->capacity)
        return 0;
    uint32_t wanted = histogram->capacity ? histogram->capacity * 2 : 1;
    void *grown = realloc(histogram->entries, wanted * sizeof *histogram->entries);
    if (!grown)
        return DW_ERR_MEMORY;
    histogram->entries = grown;
    histogram->capacity = wanted;
    return 0;
}

/* The entry of the bucket, made with count 0 when absent; NULL when out of memory. */
static struct dw_histogram_entry *entry_of(struct dw_histogram *histogram, uint32_t bucket)
{
    uint32_t low = 0, high = histogram->count;
    if (high && histogram->entries[high - 1].bucket < bucket)
        low = high; /* they come in order, mostly */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (histogram->entries[middle].bucket < bucket)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < histogram->count && histogram->entries[low].bucket == bucket)
        return &histogram->entries[low];
    if (make_room(histogram))
        return NULL;
    struct dw_histogram_entry *entry = &histogram->entries[low];
    memmove(entry + 1, entry, (histogram->count - low) * sizeof *entry);
    histogram->count++;
    *entry = (struct dw_histogram_entry){bucket, 0};
    return entry;
}

int dw_histogram_reserve(struct dw_histogram *histogram, uint32_t count)
{
    if (histogram->capacity >= count)
        return 0;
    void *entries = realloc(histogram->entries, count * sizeof *histogram->entries);
    if (!entries)
        return DW_ERR_MEMORY;
    histogram->entries = entries;
    histogram->capacity = count;
    return 0;
}

int dw_histogram_set(struct dw_histogram *histogram, uint32_t bucket, uint64_t count)
{
    struct dw_histogram_entry *entry = entry_of(histogram, bucket);
    if (!entry)
        return DW_ERR_MEMORY;
    entry->count = count;
    return 0;
}

int dw_histogram_add(struct dw_histogram *histogram, uint32_t bucket, uint64_t count)
{
    struct dw_histogram_entry *entry = entry_of(histogram, bucket);
    if (!entry)
        return DW_ERR_MEMORY;
    entry->count += count;
    return 0;
}

int dw_histogram_merge(struct dw_histogram *into, const struct dw_histogram *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        int error = dw_histogram_add(into, from->entries[i].bucket, from->entries[i].count);
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
    uint64_t total = 0;
    for (uint32_t i = 0; i < histogram->count; i++)
        total += histogram->entries[i].count;
    double wanted = fraction * (double)total;
    double below = 0;
    for (uint32_t i = 0; i < histogram->count; i++) {
        const struct dw_histogram_entry *entry = &histogram->entries[i];
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
