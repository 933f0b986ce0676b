/* SPDX-License-Identifier: MIT
 * Samples a process, and if wanted its children, on a schedule until it ends or somebody says so.
 */
#ifndef DW_ATTACH_SAMPLING_RECORDING_H
#define DW_ATTACH_SAMPLING_RECORDING_H

#include "attach/sampling/sampler.h"

struct dw_recording_options {
    pid_t pid;
    uint64_t period_ns; /* 0: as fast as it goes */
    enum dw_sample_mode mode;
    bool timeline, native;
    bool subprocesses;   /* children that run Python, now or later, have files of their own */
    const char *path;    /* NULL: in memory only */
    bool is_path_ours;   /* we made the name up */
    dw_sample_seen seen; /* NULL: nobody is told of single samples; of the first process only */
    void *seen_context;
};

/* How it went, all processes together. */
struct dw_recording_numbers {
    uint64_t rounds; /* times that the first process was looked at */
    uint64_t taken, retried, stops, stopped_ns, missed;
    double rate_hz;
};

struct dw_recorded; /* one process */

struct dw_recording {
    struct dw_recording_options options;
    struct dw_recorded *processes; /* owned; the first is the one asked for */
    uint32_t count, capacity;
    struct dw_recording_numbers ended; /* of children that ended; their places are free again */
    uint32_t ended_files;
    uint64_t begun_ns, ended_ns;
    uint64_t period_start_ns;                /* of the period that the next sample stands for */
    uint64_t next_ns, flush_ns, children_ns; /* when what is due */
    uint64_t chance;                         /* the number that was drawn last */
    bool is_over;                            /* all processes have ended */
    bool is_behind;                          /* samples were missed since the last one */
    bool is_barred;   /* the process asked for became one that we may not read: its end, for us */
    bool lacks_files; /* more were needed at once than we may open; something is missing */
};

/* A process that starts, or becomes another program, is tried again for `patience_ns`. Errors
 * are those of dw_sampler_init, and DW_ERR_IO for the file. Release it in any case. */
int dw_recording_begin(struct dw_recording *recording, const struct dw_recording_options *options,
                       uint64_t patience_ns);
void dw_recording_release(struct dw_recording *recording);
/* Samples until `until_ns`, the process has ended, or *stop is set. */
int dw_recording_run(struct dw_recording *recording, uint64_t until_ns, const volatile int *stop);
/* Completes the files. */
int dw_recording_end(struct dw_recording *recording);

/* The sampler of the first process; valid after an error too, for what is known by then. */
const struct dw_sampler *dw_recording_sampler(const struct dw_recording *recording);
/* How many processes have a file. */
uint32_t dw_recording_file_count(const struct dw_recording *recording);
struct dw_ledger *dw_recording_log(struct dw_recording *recording, uint32_t process);

/* The numbers so far; it may be going on. */
struct dw_recording_numbers dw_recording_numbers(const struct dw_recording *recording);

#endif
