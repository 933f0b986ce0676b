/* SPDX-License-Identifier: MIT
 * What was allocated where, and what of it is there: steps of stacks, sites, and their numbers. A
 * site is a stack in a thread, with the allocator and what the program was doing. All of it is
 * under the lock of alloc_lock.h, which any thread may take inside of malloc. */
#ifndef DW_PROBE_MEMORY_ALLOC_SITES_H
#define DW_PROBE_MEMORY_ALLOC_SITES_H

#include "base/map.h"
#include "model/label_table.h"
#include "model/path_tree.h"
#include "probe/memory/alloc_lock.h"
#include "probe/sample/sample_code.h"

#define DW_ALLOC_COUNT 256u /* an allocation; a sample stands for more, also for parts of one */

enum dw_alloc_kind {
    DW_ALLOC_PYTHON, /* Python's allocator of small objects, which cuts up arenas */
    DW_ALLOC_LARGE,  /* its others, which have their memory from malloc */
    DW_ALLOC_MALLOC,
    DW_ALLOC_MIMALLOC, /* of a library, and the other that it may have */
    DW_ALLOC_JEMALLOC,
    DW_ALLOC_MMAP,  /* reserved, and no part of what is live */
    DW_ALLOC_ARENA, /* the same, for Python's own allocator */
    DW_ALLOC_KINDS
};

struct dw_alloc_step {
    uint64_t token; /* probe/sample/sample_slot.h */
    uint32_t parent;
};

enum dw_site_number {
    DW_SITE_ALLOCATIONS, /* in units of DW_ALLOC_COUNT, as are all that count */
    DW_SITE_BYTES,
    DW_SITE_LIVE,
    DW_SITE_LIVE_BYTES,
    DW_SITE_PEAK_BYTES, /* when most was live in the process */
    DW_SITE_TEMPORARY,
    DW_SITE_NUMBERS
};

struct dw_alloc_site_key {
    uint32_t step;
    uint32_t thread;
    dw_labels_id labels; /* record/labels.h */
    dw_frame_id region;
    uint32_t mark; /* of dw_alloc_mark */
    uint32_t kind;
};

/* What changes with each block: as much as a line of the processor's cache. Counts are in
 * DW_ALLOC_COUNT. */
struct dw_alloc_site {
    uint64_t allocations, bytes;
    uint64_t freed, freed_bytes;
    uint64_t epoch;
    uint64_t temporary;
    uint64_t peak_bytes; /* of the epoch */
    uint32_t kind;
};

struct dw_alloc_site_record {
    struct dw_alloc_site_key key;
    uint64_t told[DW_SITE_NUMBERS]; /* what the log knows */
    uint64_t told_events;           /* allocations and frees, in DW_ALLOC_COUNT */
    uint64_t told_peak_ns; /* the same: when the thread was here at the peak; 0: it was not */
};

struct dw_alloc_thread_entry {
    pid_t tid;
    bool has_ended;
    bool has_live;      /* as of the last look: blocks that it allocated, or had at the peak */
    uint32_t site;      /* of its last allocation */
    uint32_t peak_site; /* the same when most was live, as of the epoch */
    uint64_t epoch;
};

struct dw_alloc_code {
    struct dw_alloc_code *next;
    struct dw_code_record record;
};

struct dw_allocs {
    struct dw_alloc_step *steps; /* the first is the root */
    uint32_t step_count, step_capacity;
    struct dw_map step_index;
    struct dw_alloc_site *sites;          /* the first is none */
    struct dw_alloc_site_record *records; /* of the sites */
    uint32_t site_count, site_capacity, record_capacity;
    struct dw_map site_index;
    struct dw_alloc_thread_entry *threads;
    uint32_t thread_count, thread_capacity;
    struct dw_alloc_code *codes; /* that were met, and not yet told */
    uint64_t live_bytes, peak_bytes;
    _Atomic uint64_t now_ns; /* the time, as often as somebody looked; needs no lock */
    uint64_t peak_ns;        /* when the peak was, by that */
    uint64_t epoch;          /* of the last peak */
    uint64_t noting;         /* the same; 0: nothing was given back since */
    uint64_t dropped;        /* allocations for which there was no memory */
};

extern struct dw_allocs dw_allocs DW_ALLOC_INNER;
/* Code objects that were met: all that is known was described. */
extern struct dw_number_set dw_alloc_codes;

/* From here on the lock is held. Nothing is in it; 0 or DW_ERR_MEMORY. */
int dw_alloc_init(void);
void dw_alloc_end(void);
/* 0: there is no memory. */
uint32_t dw_alloc_step(uint32_t parent, uint64_t token);
uint32_t dw_alloc_site(const struct dw_alloc_site_key *key);
static inline void dw_alloc_at(uint32_t thread, uint32_t site);
static inline void dw_alloc_add(uint32_t site, uint64_t count, uint64_t bytes);
static inline void dw_alloc_remove(uint32_t site, uint64_t count, uint64_t bytes,
                                   bool is_temporary);
/* The same for what is mapped, which is in nobody's peak. */
void dw_alloc_reserve(uint32_t site, uint64_t count, uint64_t bytes);
void dw_alloc_unreserve(uint32_t site, uint64_t count, uint64_t bytes);
uint64_t dw_alloc_number(const struct dw_alloc_site *site, enum dw_site_number number);
/* Bytes that are live, of all sites of each kind. */
void dw_alloc_live_bytes(uint64_t of[DW_ALLOC_KINDS]);
/* The token of a place in code that runs in the calling thread, so that it is alive. */
uint64_t dw_alloc_code_token(const PyCodeObject *code, int32_t unit);

/* When the first byte is given back after a peak, a new epoch begins; a site that changes in an
 * epoch for the first time notes what it had before. So nobody looks at all sites. */
static inline void dw_alloc_note_peak(struct dw_alloc_site *site)
{
    if (site->epoch >= dw_allocs.noting)
        return;
    site->epoch = dw_allocs.noting;
    site->peak_bytes = site->bytes - site->freed_bytes;
}

/* The thread allocates there, or nowhere any more: 0. Likewise it notes where it was at the peak.
 * To be called before dw_alloc_add. */
static inline void dw_alloc_at(uint32_t thread, uint32_t site)
{
    struct dw_alloc_thread_entry *entry = &dw_allocs.threads[thread];
    if (__builtin_expect(thread >= dw_allocs.thread_count, 0)) /* of a recording that is over */
        return;
    if (entry->epoch < dw_allocs.noting) {
        entry->epoch = dw_allocs.noting;
        entry->peak_site = entry->site;
    }
    entry->site = site;
}

static inline uint32_t dw_alloc_site_at_peak(const struct dw_alloc_thread_entry *entry)
{
    bool is_noted = dw_allocs.noting && entry->epoch == dw_allocs.noting;
    return is_noted ? entry->peak_site : entry->site;
}

static inline void dw_alloc_add(uint32_t index, uint64_t count, uint64_t bytes)
{
    struct dw_alloc_site *site = &dw_allocs.sites[index];
    if (__builtin_expect(index >= dw_allocs.site_count, 0)) /* of a recording that is over */
        return;
    dw_alloc_note_peak(site);
    site->allocations += count;
    site->bytes += bytes;
    dw_allocs.live_bytes += bytes;
    if (dw_allocs.live_bytes > dw_allocs.peak_bytes) {
        dw_allocs.peak_bytes = dw_allocs.live_bytes;
        dw_allocs.peak_ns = atomic_load_explicit(&dw_allocs.now_ns, memory_order_relaxed);
        dw_allocs.noting = 0;
    }
}

static inline void dw_alloc_remove(uint32_t index, uint64_t count, uint64_t bytes,
                                   bool is_temporary)
{
    struct dw_alloc_site *site = &dw_allocs.sites[index];
    if (__builtin_expect(index >= dw_allocs.site_count, 0))
        return;
    if (!dw_allocs.noting)
        dw_allocs.noting = ++dw_allocs.epoch;
    dw_alloc_note_peak(site);
    site->freed += count;
    site->freed_bytes += bytes;
    site->temporary += is_temporary ? count : 0;
    dw_allocs.live_bytes -= bytes;
}

#endif
