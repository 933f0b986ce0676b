/* SPDX-License-Identifier: MIT
 * What is recorded of this process by samples: its threads, and the log that their samples become.
 * The sampler's thread works on it from time to time. Handlers know nothing of it. */
#ifndef DW_PROBE_SAMPLE_SAMPLE_RECORDING_H
#define DW_PROBE_SAMPLE_SAMPLE_RECORDING_H

#include "probe/sample/sample_places.h"
#include "probe/sample/sample_reader.h"
#include "probe/sample/sample_threads.h"

struct dw_sampler_options {
    const char *log_file; /* NULL: in memory */
    uint64_t period_ns;
    bool native; /* native frames too */
    bool timeline;
    enum dw_sample_mode mode;
    struct dw_function_name base; /* stacks begin behind it; without a name at the thread's start */
};

/* What a forked child has from its parent. */
struct dw_sample_heritage {
    struct dw_sample_natives natives;
    struct dw_own_python python;
    pid_t thread; /* that forked; in the child it is the only one, and its stack is where it was */
    uintptr_t stack_start, stack_end;
};

struct dw_sample_recording {
    struct dw_sampler_options options;
    struct dw_sample_heritage heritage; /* until it begins */
    bool has_told_tight;                /* that a thread has too small a stack for signals */
    struct dw_ledger *log;
    struct dw_sample_places places;
    struct dw_sample_threads threads;
    struct dw_sample_reader reader;
    uint64_t begun_ns, looked_ns, flushed_ns, quick_ns; /* the last looks, and the last flush */
    uint64_t found_ns;     /* when a thread was found that did not say so */
    uint64_t turned_ns;    /* when a thread both ran and waited between two looks */
    uint64_t own_ended_ns; /* CPU time of sampler's threads that have ended */
    uint64_t unseen_ns;    /* CPU time that is counted already, or not ours to count */
};

/* 0, or an error, with which nothing is left behind. A recording that was abandoned goes on with
 * its ledger. */
int dw_sample_recording_begin(struct dw_sample_recording *recording,
                              const struct dw_sampler_options *options);
/* Takes in threads that have announced themselves. */
void dw_sample_recording_enter_births(struct dw_sample_recording *recording);
/* Whatever is due now. */
void dw_sample_recording_work(struct dw_sample_recording *recording, uint64_t now_ns);
/* Until the next work. */
uint64_t dw_sample_recording_interval_ns(const struct dw_sample_recording *recording,
                                         uint64_t now_ns);
/* Before a fork: finds the names of what was sampled, so that not every child has to. */
void dw_sample_recording_before_fork(struct dw_sample_recording *recording);
/* Writes all there is, as if nothing came after it. */
void dw_sample_recording_save(struct dw_sample_recording *recording);
/* Nothing is recorded any more, and everything is written. 0, or the error with which the file was
 * given up. */
int dw_sample_recording_end(struct dw_sample_recording *recording);
void dw_sample_recording_release(struct dw_sample_recording *recording);
/* In a forked child: the recording is the parent's, and nothing of it is written here. The ledger
 * stays, which is a new one by now. */
void dw_sample_recording_abandon(struct dw_sample_recording *recording);

#endif
