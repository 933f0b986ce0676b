/* SPDX-License-Identifier: MIT
 * What was allocated where, and what of it is there: steps of stacks, sites, and their numbers. A
 * site is a stack in a thread, with the allocator and what the program was doing. All of it is
 * under one lock, which is never held while anything but this is asked for, so any thread may take
 * it inside of malloc. */
#ifndef DW_PROBE_MEMORY_HEAP_H
#define DW_PROBE_MEMORY_HEAP_H

#include "base/map.h"
#include "model/label_table.h"
#include "model/path_tree.h"
#include "probe/sample/sample_code.h"

#include <pthread.h>
#include <stdatomic.h>

#define DW_HEAP_COUNT 256u /* an allocation; a sample stands for more, also for parts of one */

enum dw_heap_kind {
    DW_HEAP_PYTHON, /* Python's allocator of small objects, which cuts up arenas */
    DW_HEAP_LARGE,  /* its others, which have their memory from malloc */
    DW_HEAP_MALLOC,
    DW_HEAP_MMAP,  /* reserved, and no part of what is live */
    DW_HEAP_ARENA, /* the same, for Python's own allocator */
    DW_HEAP_KINDS
};

struct dw_heap_step {
    uint64_t token; /* probe/sample/sample_slot.h */
    uint32_t parent;
};

enum dw_heap_number {
    DW_HEAP_ALLOCATIONS, /* in units of DW_HEAP_COUNT, as are all that count */
    DW_HEAP_BYTES,
    DW_HEAP_LIVE,
    DW_HEAP_LIVE_BYTES,
    DW_HEAP_PEAK_BYTES, /* when most was live in the process: see dw_heap_peak */
    DW_HEAP_TEMPORARY,
    DW_HEAP_NUMBERS
};

struct dw_heap_site_key {
    uint32_t step;
    uint32_t thread;
    dw_labels_id labels; /* record/labels.h */
    dw_frame_id region;
    uint32_t mark; /* of dw_heap_mark */
    uint32_t kind;
};

struct dw_heap_site {
    struct dw_heap_site_key key;
    uint32_t epoch;                 /* as of which DW_HEAP_PEAK_BYTES is right */
    uint64_t now[DW_HEAP_NUMBERS];  /* peak bytes: those of that epoch */
    uint64_t told[DW_HEAP_NUMBERS]; /* what the log knows; peak bytes: as dw_heap_peak had it */
};

struct dw_heap_thread_entry {
    pid_t tid;
    bool has_ended;
    uint64_t live; /* of all its sites */
};

struct dw_heap_code {
    struct dw_heap_code *next;
    struct dw_code_record record;
};

struct dw_heap {
    pthread_mutex_t lock;
    struct dw_heap_step *steps; /* the first is the root */
    uint32_t step_count, step_capacity;
    struct dw_map step_index;
    struct dw_heap_site *sites; /* the first is none */
    uint32_t site_count, site_capacity;
    struct dw_map site_index;
    struct dw_heap_thread_entry *threads;
    uint32_t thread_count, thread_capacity;
    struct dw_heap_code *codes; /* that were met, and not yet told */
    uint64_t live_bytes, peak_bytes;
    uint64_t live_of[DW_HEAP_KINDS]; /* bytes */
    uint32_t epoch;                  /* of the last peak */
    bool is_at_peak;                 /* nothing was given back since */
    uint64_t dropped;                /* allocations for which there was no memory */
};

extern struct dw_heap dw_heap;
/* Code objects that were met: all that is known was described. */
extern struct dw_number_set dw_heap_codes;

/* For those who are not in an allocator: false when the lock could not be had in a while, as when
 * its holder was interrupted by a signal that ends the process. */
bool dw_heap_lock(void);
/* From here on the lock is held. Nothing is in it; 0 or DW_ERR_MEMORY. */
int dw_heap_init(void);
void dw_heap_end(void);
/* 0: there is no memory. */
uint32_t dw_heap_step(uint32_t parent, uint64_t token);
uint32_t dw_heap_site(const struct dw_heap_site_key *key);
void dw_heap_add(uint32_t site, uint64_t count, uint64_t bytes);
void dw_heap_remove(uint32_t site, uint64_t count, uint64_t bytes, bool is_temporary);
/* The bytes of the site when most was live. */
uint64_t dw_heap_peak(const struct dw_heap_site *site);
/* The token of a place in code that runs in the calling thread, so that it is alive. */
uint64_t dw_heap_code_token(const PyCodeObject *code, int32_t unit);

#endif
