/* SPDX-License-Identifier: MIT
 * Time in which a thread takes no samples of itself: it waits, or the kernel works for it. The
 * sampler's thread reads its stack without touching it, so that no system call is interrupted.
 * What is read counts only if the thread did not run meanwhile. */
#ifndef DW_PROBE_SAMPLE_SLEEP_H
#define DW_PROBE_SAMPLE_SLEEP_H

#include "attach/code_cache.h"
#include "attach/interpreter.h"
#include "attach/thread_names.h"
#include "probe/sample_places.h"
#include "probe/sample_threads.h"

/* Where `threading` has the names of an interpreter's threads, or when to look again. */
struct dw_name_source {
    uint64_t interpreter, dict;
    uint64_t next_ns, pause_ns;
};

struct dw_sleep_reader {
    struct dw_sample_places *places;
    struct dw_target target; /* this process */
    struct dw_python python;
    bool can_read;
    struct dw_code_cache cache;
    struct dw_py_threads listed;
    uint64_t listed_ns;
    struct dw_name_source names;
    struct dw_thread_names known_names;
    struct dw_slot_memory *memory; /* owned: room for one stack */
};

/* 0 or DW_ERR_MEMORY; where Python cannot be read, its frames are missing. */
int dw_sleep_reader_init(struct dw_sleep_reader *reader, struct dw_sample_places *places);
void dw_sleep_reader_release(struct dw_sleep_reader *reader);

/* Wall mode: accounts for the time since the last look that the thread did not run. */
void dw_sleep_look(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns);
/* The thread is gone, or the recording ends. */
void dw_sleep_finish(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns);
/* Accounts for CPU time in which the thread's timer was silent. */
void dw_sleep_look_at_kernel(struct dw_sleep_reader *reader, struct dw_slot *slot, int signal,
                             uint64_t now_ns);
/* Without timers: false when the thread runs, so that a signal would interrupt nothing. Else the
 * CPU time that nobody has accounted for goes to where it waits. */
bool dw_sleep_account(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t cpu_ns,
                      uint64_t now_ns);
/* Finds out where time in the kernel was spent that the slot has in `owed_ns`. It is the code that
 * runs without the GIL: system calls that take long give it up. When none is seen, or at the
 * `end`, it is where the sample after it was. */
void dw_sleep_pay_kernel(struct dw_sleep_reader *reader, struct dw_slot *slot, uint64_t now_ns,
                         bool end);
/* Of a thread that waits; 0 for others. */
uintptr_t dw_sleep_stack_pointer(const struct dw_slot *slot);
/* The name that a thread said it has. */
void dw_sleep_set_name(struct dw_sleep_reader *reader, struct dw_slot *slot, const char *name,
                       size_t size);
/* The names that `threading` has for the threads, or else the kernel's: for new ones, or again for
 * all, since a name may be given late. */
void dw_sleep_name_threads(struct dw_sleep_reader *reader, const struct dw_sample_threads *threads,
                           bool again);

#endif
