/* SPDX-License-Identifier: MIT
 * From dw_allocs to the rows of a log, in a thread of dwell. */
#ifndef DW_PROBE_MEMORY_MEMORY_RECORDING_H
#define DW_PROBE_MEMORY_MEMORY_RECORDING_H

#include "probe/memory/resident_parts.h"
#include "probe/sample/sample_places.h"

struct dw_alloc_step;
struct dw_alloc_thread_entry;
struct dw_memory_change;

struct dw_memory_recording {
    struct dw_resident_parts resident; /* as the log has it */
    bool looks;                        /* at the memory of the process, when it writes next */
    uint64_t took_ns; /* on a CPU, the last time, for what has to be done each time: names, places
                         and sources are looked up once */
    struct dw_ledger *log;
    bool is_exact;
    struct dw_sample_places places;
    dw_path_id *paths; /* by step */
    uint32_t path_count, path_capacity;
    struct dw_memory_thread {
        uint32_t log_thread; /* 1 + its index in the ledger; 0: not there, or no longer */
        bool is_left;
    } * threads; /* by number in dw_allocs */
    uint32_t thread_count, thread_capacity;
    /* Copies of what is new in dw_allocs. */
    struct dw_alloc_step *steps;
    uint32_t step_count, step_capacity;
    struct dw_alloc_thread_entry *entries;
    uint32_t entry_count, entry_capacity;
    struct dw_memory_change *changes;
    uint32_t change_count, change_capacity;
};

/* The log is there already. Release it in any case. */
int dw_memory_recording_init(struct dw_memory_recording *recording);
void dw_memory_recording_release(struct dw_memory_recording *recording);
/* Stacks through code that was loaded since are walked by its rules, and not by guesses. */
void dw_memory_recording_look(struct dw_memory_recording *recording);
/* Writes what is new. */
dw_collect dw_memory_collect;

#endif
