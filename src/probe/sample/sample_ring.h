/* SPDX-License-Identifier: MIT
 * Records on their way from a signal handler to the sampler's thread: one writer, one reader,
 * no lock. A record lies in one piece; sizes are multiples of 8. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_RING_H
#define DW_PROBE_SAMPLE_SAMPLE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum dw_ring_kind {
    DW_RING_SKIP,   /* the rest up to the end of the memory */
    DW_RING_CODE,   /* struct dw_code_record */
    DW_RING_TASK,   /* struct dw_task_record */
    DW_RING_SAMPLE, /* struct dw_sample_record */
};

struct dw_ring_record {
    uint32_t size; /* with this head */
    uint32_t kind;
};

struct dw_sample_ring {
    uint8_t *bytes;
    size_t size; /* a power of two */
    _Atomic uint64_t written, read;
    uint64_t reserved; /* the writer's: where the piece that is being filled begins */
};

/* One piece for any number of records, or NULL when there is no room. [signal-safe] */
void *dw_ring_reserve(struct dw_sample_ring *ring, size_t size);
/* Shows the piece, filled, to the reader. [signal-safe] */
void dw_ring_commit(struct dw_sample_ring *ring, size_t size);

/* The oldest record, or NULL; valid until it is dropped. */
const struct dw_ring_record *dw_ring_first(struct dw_sample_ring *ring);
void dw_ring_drop(struct dw_sample_ring *ring, const struct dw_ring_record *record);

#endif
