/* SPDX-License-Identifier: MIT
 * Durations in logarithmic buckets: 32 to each doubling, so a percentile is
 * within 3.2 % in constant memory. The recorder counts into blocks of buckets;
 * the model keeps the few that are not empty. */
#ifndef DW_MODEL_HISTOGRAM_H
#define DW_MODEL_HISTOGRAM_H

#include <assert.h>
#include <stdint.h>

#define DW_HISTOGRAM_SPLIT_BITS 5
#define DW_HISTOGRAM_SPLIT (1u << DW_HISTOGRAM_SPLIT_BITS)
/* Buckets of values below 2^48 (78 hours of nanoseconds); larger ones count in the last. */
#define DW_HISTOGRAM_BUCKETS ((48u - DW_HISTOGRAM_SPLIT_BITS + 1) * DW_HISTOGRAM_SPLIT)

/* [signal-safe] */
static inline uint32_t dw_histogram_bucket(uint64_t value)
{
    if (value < DW_HISTOGRAM_SPLIT)
        return (uint32_t)value;
    if (value >> 48)
        return DW_HISTOGRAM_BUCKETS - 1;
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(value)) - DW_HISTOGRAM_SPLIT_BITS;
    return shift * DW_HISTOGRAM_SPLIT + (uint32_t)(value >> shift);
}

/* The smallest value that falls into the bucket. */
static inline uint64_t dw_histogram_floor(uint32_t bucket)
{
    if (bucket < 2 * DW_HISTOGRAM_SPLIT)
        return bucket;
    uint32_t shift = bucket / DW_HISTOGRAM_SPLIT - 1;
    return (uint64_t)(bucket % DW_HISTOGRAM_SPLIT + DW_HISTOGRAM_SPLIT) << shift;
}

struct dw_histogram_entry {
    uint64_t bucket : 11;
    uint64_t count : 53;
};
static_assert(DW_HISTOGRAM_BUCKETS <= 1 << 11, "a bucket's number has room");
#define DW_HISTOGRAM_COUNT_MAX ((UINT64_C(1) << 53) - 1)

static inline struct dw_histogram_entry dw_histogram_entry(uint32_t bucket, uint64_t count)
{
    uint64_t most = count < DW_HISTOGRAM_COUNT_MAX ? count : DW_HISTOGRAM_COUNT_MAX;
    return (struct dw_histogram_entry){bucket & 0x7ff, most & DW_HISTOGRAM_COUNT_MAX};
}

/* Most paths have one bucket, and there may be a million of them. */
struct dw_histogram {
    union {
        struct dw_histogram_entry *entries;
        struct dw_histogram_entry only; /* while the capacity is 0 */
    };
    uint32_t count;
    uint32_t capacity;
};

/* In ascending order of bucket. */
static inline struct dw_histogram_entry *dw_histogram_entries(const struct dw_histogram *histogram)
{
    return histogram->capacity ? histogram->entries : (struct dw_histogram_entry *)&histogram->only;
}

/* How the durations of entries are distributed. */
struct dw_spread {
    unsigned __int128 sum_squares;
    struct dw_histogram histogram;
};

void dw_histogram_release(struct dw_histogram *histogram);
/* Room for so many entries, and no more. */
int dw_histogram_reserve(struct dw_histogram *histogram, uint32_t count);
/* Makes the bucket's count be `count`, or adds to it. */
int dw_histogram_set(struct dw_histogram *histogram, uint32_t bucket, uint64_t count);
int dw_histogram_add(struct dw_histogram *histogram, uint32_t bucket, uint64_t count);
int dw_histogram_merge(struct dw_histogram *into, const struct dw_histogram *from);
int dw_spread_merge(struct dw_spread *into, const struct dw_spread *from);
/* The value that `fraction` (0 to 1) of the durations do not exceed, interpolated; 0 when empty. */
uint64_t dw_histogram_quantile(const struct dw_histogram *histogram, double fraction);

#endif
