/* SPDX-License-Identifier: MIT
 * Sources of a process that is recorded from outside. It says itself which files its code is from,
 * and may name what it likes: a file counts only if the process could read it, from where it is. */
#ifndef DW_ATTACH_TARGET_TARGET_SOURCE_H
#define DW_ATTACH_TARGET_TARGET_SOURCE_H

#include "attach/target/credentials.h"
#include "record/ledger.h"

struct dw_target_sources {
    pid_t pid;
    int root;                          /* its root directory, for when it has ended; -1: none */
    struct dw_ledger *const *log;      /* where the names and lines of functions are */
    struct dw_credentials credentials; /* before anything of its memory was read */
    bool is_over;                      /* it may have lost rights since: nothing is read any more */
    struct dw_source_reader reader;    /* for the log */
};

/* Stays where it is. 0, or DW_ERR_MEMORY; release it in any case. A process that cannot be looked
 * at has no sources. */
int dw_target_sources_init(struct dw_target_sources *sources, pid_t pid,
                           struct dw_ledger *const *log);
void dw_target_sources_release(struct dw_target_sources *sources);

#endif
