/* SPDX-License-Identifier: MIT
 * The threads of this process that are sampled, each with a slot and a timer. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_THREADS_H
#define DW_PROBE_SAMPLE_SAMPLE_THREADS_H

#include "probe/sample/sample_slot.h"

#include <sys/types.h>

#define DW_OWN_THREADS 4
#define DW_SAMPLER_THREAD "dwell-sample" /* the thread that looks at them */

struct dw_sample_threads {
    struct dw_slot **slots; /* of the threads that are sampled, the newest last if none ended */
    uint32_t count, capacity;
    pid_t own[DW_OWN_THREADS]; /* dwell's, as far as they are known */
    uint64_t ended_ns;         /* CPU time of threads that have ended */
    uint64_t period_ns;
    int signal;
    bool is_refused;    /* the kernel gives us no timers: signals have to be sent */
    bool has_looked;    /* threads that are new now began after the recording did */
    nlink_t link_count; /* of the kernel's list of threads, at the last look; 0: none yet */
};

/* Called for a thread that has ended, before its slot goes. */
typedef void dw_thread_ended(void *context, struct dw_slot *slot);

/* Whether threads may have come or gone. The quick way may overlook that an old thread ended
 * and another one began. */
bool dw_sample_threads_changed(struct dw_sample_threads *threads, bool quick);
/* Finds new threads and those that have ended; returns how many are new. */
uint32_t dw_sample_threads_look(struct dw_sample_threads *threads, dw_thread_ended *ended,
                                void *context);
/* A thread that is known to be the program's; NULL when it has ended, or there is no room. */
struct dw_slot *dw_sample_threads_enter(struct dw_sample_threads *threads, pid_t tid);
/* The CPU time of all these threads, also of those that have ended, and of dwell's. */
uint64_t dw_sample_threads_cpu_ns(struct dw_sample_threads *threads);
/* Closes the timers; the slots stay. */
void dw_sample_threads_stop(struct dw_sample_threads *threads);
void dw_sample_threads_release(struct dw_sample_threads *threads);
/* In a forked child, where only the calling thread is left. */
void dw_sample_threads_disown(struct dw_sample_threads *threads);
/* The program took the signal for itself: another one from now on. */
void dw_sample_threads_use_signal(struct dw_sample_threads *threads, int signal);
/* Whether a handler is running somewhere. */
bool dw_sample_threads_are_busy(const struct dw_sample_threads *threads);

void dw_sample_threads_set_stack(struct dw_slot *slot, uintptr_t start, uintptr_t end);
/* Looks up where the stacks are that handlers have asked for. */
void dw_sample_threads_find_stacks(const struct dw_sample_threads *threads);

/* Makes the thread take a sample now. */
void dw_thread_signal(const struct dw_slot *slot, int signal);
/* How many threads there are beside those of dwell. */
uint32_t dw_threads_of_program(void);

#endif
