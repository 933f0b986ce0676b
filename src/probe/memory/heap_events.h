/* SPDX-License-Identifier: MIT
 * What allocators tell: that the calling thread allocated a block, or is about to give one back.
 * Any thread may call these at any time, also one that Python never saw. */
#ifndef DW_PROBE_MEMORY_HEAP_EVENTS_H
#define DW_PROBE_MEMORY_HEAP_EVENTS_H

#include "probe/memory/block_samples.h"
#include "probe/memory/heap_thread.h"

#define DW_HEAP_PERIOD 524288.0 /* bytes, on the average, from one sample to the next */

/* Whether anything is recorded; and whether that is each allocation. */
extern _Atomic bool dw_heap_is_on, dw_heap_is_exact;

void dw_heap_allocated_slow(void *block, size_t size, enum dw_heap_kind kind, const void *caller);
bool dw_heap_take_slow(void *block, struct dw_block *taken);

static inline bool dw_heap_is_quiet(void)
{
    return dw_heap_here.busy || !atomic_load_explicit(&dw_heap_is_on, memory_order_relaxed);
}

/* `caller`: where the allocator was called from; NULL: Python code alone tells. */
static inline void dw_heap_allocated(void *block, size_t size, enum dw_heap_kind kind,
                                     const void *caller)
{
    dw_heap_here.count++;
    dw_heap_here.left -= (int64_t)size;
    bool is_met =
        dw_heap_here.left < 0 || atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed);
    if (__builtin_expect(is_met, 0) && block)
        dw_heap_allocated_slow(block, size, kind, caller);
}

/* Before the block is given back: from then on others may have its address. False when nothing is
 * known of it. */
static inline bool dw_heap_take(void *block, struct dw_block *taken)
{
    bool may_be = atomic_load_explicit(&dw_heap_is_exact, memory_order_relaxed) ||
                  dw_block_may_be((uintptr_t)block);
    return __builtin_expect(may_be, 0) && block && dw_heap_take_slow(block, taken);
}

/* What was taken is gone, or is still there since it was not given back after all. */
void dw_heap_drop(void *block, const struct dw_block *taken);
void dw_heap_put_back(void *block, const struct dw_block *taken);

static inline void dw_heap_freed(void *block)
{
    struct dw_block taken;
    if (dw_heap_take(block, &taken))
        dw_heap_drop(block, &taken);
}

void dw_heap_mapped(void *start, size_t size, const void *caller);
void dw_heap_unmapped(void *start, size_t size);

/* What is allocated from now on has the name as a label; NULL: none. 0 or an error. */
int dw_heap_mark(const char *name);
const char *dw_heap_mark_name(uint32_t mark);

#endif
