/* SPDX-License-Identifier: MIT
 * Blocks that were sampled, and are there: few, so what most frees cost is one look at a filter. */
#ifndef DW_PROBE_MEMORY_BLOCK_SAMPLES_H
#define DW_PROBE_MEMORY_BLOCK_SAMPLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dw_block {
    uint32_t site;
    uint32_t thread;
    uint64_t count; /* of DW_ALLOC_COUNT: what it stands for */
    uint64_t bytes;
    uint64_t born; /* how many allocations its thread had made */
};

#define DW_BLOCK_FILTER_BITS 16
extern _Atomic uint8_t dw_block_filter[1u << DW_BLOCK_FILTER_BITS];

/* Neighbours in memory are neighbours in the filter, so that little of it is in use at a time. */
static inline uint32_t dw_block_hash(uintptr_t block)
{
    return (uint32_t)(block >> 4 ^ block >> (4 + DW_BLOCK_FILTER_BITS)) &
           ((1u << DW_BLOCK_FILTER_BITS) - 1);
}

/* Whether it may be one of them. Takes no lock; for the others, that of dw_allocs is held. */
static inline bool dw_block_may_be(uintptr_t block)
{
    return atomic_load_explicit(&dw_block_filter[dw_block_hash(block)], memory_order_relaxed);
}

/* False when there is no memory. */
bool dw_block_put(uintptr_t block, const struct dw_block *what);
bool dw_block_take(uintptr_t block, struct dw_block *what);
void dw_blocks_release(void);

#endif
