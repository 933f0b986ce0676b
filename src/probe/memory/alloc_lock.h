/* SPDX-License-Identifier: MIT
 * The lock of dw_allocs, which is the last of all in every order. A thread that takes it again and
 * again becomes its owner, and then takes it with two plain stores. Another thread that wants it
 * ends that, by a barrier in all threads of the process. It is not recursive, and its holder asks
 * for nothing that may wait. */
#ifndef DW_PROBE_MEMORY_ALLOC_LOCK_H
#define DW_PROBE_MEMORY_ALLOC_LOCK_H

#include "probe/memory/alloc_here.h"

extern struct dw_alloc_here *_Atomic dw_alloc_owner DW_ALLOC_INNER;

void dw_alloc_lock_slow(void);
void dw_alloc_unlock_slow(void);
/* For those who are not in an allocator: false when the lock could not be had in a while, as when
 * its holder was interrupted by a signal that ends the process. */
bool dw_alloc_lock_or_leave(void);
/* No thread owns it from then on: for a fork, and for a thread that ends. */
void dw_alloc_lock_for_all(void);

/* False: it is not the owner, and is to call dw_alloc_lock_slow. */
static inline bool dw_alloc_lock_as_owner(void)
{
    atomic_store_explicit(&dw_alloc_here.inside, DW_ALLOC_AS_OWNER, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    struct dw_alloc_here *owner = atomic_load_explicit(&dw_alloc_owner, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return __builtin_expect(owner == &dw_alloc_here, 1);
}

static inline void dw_alloc_unlock_as_owner(void)
{
    atomic_store_explicit(&dw_alloc_here.inside, DW_ALLOC_OUTSIDE, memory_order_release);
}

static inline void dw_alloc_lock(void)
{
    if (!dw_alloc_lock_as_owner())
        dw_alloc_lock_slow();
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void dw_alloc_unlock(void)
{
    if (__builtin_expect(atomic_load_explicit(&dw_alloc_here.inside, memory_order_relaxed) !=
                             DW_ALLOC_AS_OWNER,
                         0))
        dw_alloc_unlock_slow();
    else
        dw_alloc_unlock_as_owner();
}

#endif
