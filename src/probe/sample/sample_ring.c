/* SPDX-License-Identifier: MIT
 * The writer publishes a piece by one store, after it is filled. A piece that does not fit before
 * the end of the memory begins at its start, behind a record that says to skip. */
#include "probe/sample/sample_ring.h"

void *dw_ring_reserve(struct dw_sample_ring *ring, size_t size)
{
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
    size_t offset = (size_t)at & (ring->size - 1), to_end = ring->size - offset;
    size_t skipped = size > to_end ? to_end : 0;
    if (size + skipped > ring->size - (size_t)(at - read))
        return NULL;
    if (skipped) {
        struct dw_ring_record *rest = (struct dw_ring_record *)(ring->bytes + offset);
        *rest = (struct dw_ring_record){(uint32_t)skipped, DW_RING_SKIP};
    }
    ring->reserved = at + skipped;
    return ring->bytes + (ring->reserved & (ring->size - 1));
}

void dw_ring_commit(struct dw_sample_ring *ring, size_t size)
{
    atomic_store_explicit(&ring->written, ring->reserved + size, memory_order_release);
}

const struct dw_ring_record *dw_ring_first(struct dw_sample_ring *ring)
{
    for (;;) {
        uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
        if (read == atomic_load_explicit(&ring->written, memory_order_acquire))
            return NULL;
        const struct dw_ring_record *record =
            (const struct dw_ring_record *)(ring->bytes + (read & (ring->size - 1)));
        if (record->kind != DW_RING_SKIP)
            return record;
        dw_ring_drop(ring, record);
    }
}

void dw_ring_drop(struct dw_sample_ring *ring, const struct dw_ring_record *record)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    atomic_store_explicit(&ring->read, read + record->size, memory_order_release);
}
