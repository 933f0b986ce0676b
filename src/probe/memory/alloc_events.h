/* SPDX-License-Identifier: MIT
 * What allocators tell: that the calling thread allocated a block, or is about to give one back.
 * Any thread may call these at any time, also one that Python never saw. */
#ifndef DW_PROBE_MEMORY_ALLOC_EVENTS_H
#define DW_PROBE_MEMORY_ALLOC_EVENTS_H

#include "probe/memory/alloc_thread.h"
#include "probe/memory/block_samples.h"

#define DW_ALLOC_PERIOD 524288.0 /* bytes, on the average, from one sample to the next */

enum dw_alloc_mode { DW_ALLOC_OFF, DW_ALLOC_SAMPLED, DW_ALLOC_EXACT };
extern _Atomic uint8_t dw_alloc_mode DW_ALLOC_INNER;
/* The only thread that is recorded; 0: all are. */
extern _Atomic pid_t dw_alloc_only_thread DW_ALLOC_INNER;

/* These are for threads that are not busy. The block may be NULL, and is none then. */
void dw_alloc_sample(void *block, size_t size, enum dw_alloc_kind kind);
/* Gives the block. */
void *dw_alloc_note(void *block, size_t size, enum dw_alloc_kind kind, const void *caller);
bool dw_alloc_take_slow(void *block, struct dw_block *taken);
/* What was taken is gone, or is still there since it was not given back after all. */
void dw_alloc_drop(void *block, const struct dw_block *taken);
void dw_alloc_put_back(void *block, const struct dw_block *taken);
void dw_alloc_forget_sample(void *block);
/* The thread may be busy, and then does nothing. */
void dw_alloc_forget(void *block);

static inline enum dw_alloc_mode dw_alloc_mode_now(void)
{
    return (enum dw_alloc_mode)atomic_load_explicit(&dw_alloc_mode, memory_order_relaxed);
}

static inline bool dw_alloc_is_quiet(void)
{
    return dw_alloc_here.busy || dw_alloc_mode_now() == DW_ALLOC_OFF;
}

/* Of samples: whether a block of that size is one. */
static inline bool dw_alloc_is_sampled(size_t size)
{
    dw_alloc_here.count++;
    dw_alloc_here.left -= (int64_t)size;
    return dw_alloc_here.left < 0;
}

/* `caller`: where the allocator was called from; NULL: Python code alone tells. */
static inline void dw_alloc_allocated(void *block, size_t size, enum dw_alloc_kind kind,
                                      const void *caller)
{
    if (dw_alloc_mode_now() == DW_ALLOC_EXACT)
        dw_alloc_note(block, size, kind, caller);
    else if (__builtin_expect(dw_alloc_is_sampled(size), 0))
        dw_alloc_sample(block, size, kind);
}

/* Before the block is given back: from then on others may have its address. False when nothing is
 * known of it. */
static inline bool dw_alloc_take(void *block, struct dw_block *taken)
{
    bool may_be = dw_alloc_mode_now() == DW_ALLOC_EXACT || dw_block_may_be((uintptr_t)block);
    return __builtin_expect(may_be, 0) && dw_alloc_take_slow(block, taken);
}

static inline void dw_alloc_freed(void *block)
{
    if (dw_alloc_mode_now() == DW_ALLOC_EXACT)
        dw_alloc_forget(block);
    else if (__builtin_expect(dw_block_may_be((uintptr_t)block), 0))
        dw_alloc_forget_sample(block);
}

void dw_alloc_mapped(void *start, size_t size, bool is_file, const void *caller);
/* Whether it was a file. */
bool dw_alloc_unmapped(void *start, size_t size);

/* What is allocated from now on has the name as a label; NULL: none. 0 or an error. */
int dw_alloc_mark(const char *name);
const char *dw_alloc_mark_name(uint32_t mark);

#endif
