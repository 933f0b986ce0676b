/* SPDX-License-Identifier: MIT
 * One process of a recording. Private to the files of the recording. */
#ifndef DW_ATTACH_SAMPLING_RECORDED_H
#define DW_ATTACH_SAMPLING_RECORDED_H

#include "attach/sampling/recording.h"

struct dw_recorded {
    pid_t pid;
    bool is_open, has_ended;
    uint64_t rounds;
    uint64_t try_ns, delay_ns;  /* when to look again whether it runs Python, and how rarely */
    struct dw_sampler *sampler; /* owned; on the heap since it points to itself */
    struct dw_ledger *log;      /* NULL: not yet */
};

/* The process that was asked for has its file from the beginning. */
int dw_recorded_open(struct dw_recorded *process, const struct dw_recording_options *options);
/* A child has one as soon as there is something to write: most are gone before. DW_ERR_NO_RUNTIME
 * when it does not run a Python of its own yet. */
int dw_recorded_open_child(struct dw_recorded *process, const struct dw_recording_options *options);
int dw_recorded_keep_child(struct dw_recorded *process);
/* Writes what is new. */
int dw_recorded_flush(struct dw_recorded *process);
/* The same for the last time. */
int dw_recorded_end(struct dw_recorded *process);
bool dw_recorded_has_file(const struct dw_recorded *process);
/* Gives its files and memory back, but for the sampler itself. */
void dw_recorded_release(struct dw_recorded *process);

#endif
