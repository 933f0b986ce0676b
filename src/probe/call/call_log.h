/* SPDX-License-Identifier: MIT
 * From a calls profile to a ledger: a whole log in memory, or the file of the process, which grows
 * while the program runs. The GIL guards it. */
#ifndef DW_PROBE_CALL_CALL_LOG_H
#define DW_PROBE_CALL_CALL_LOG_H

#include "probe/call/calls.h"
#include "record/ledger.h"
#include "record/probes.h"

extern struct dw_probe dw_call_probe;

/* Ticks of one node, with those of calls that are still open. */
struct dw_call_times {
    uint64_t count, total, self, suspended;
};

struct dw_call_log {
    struct dw_ledger *ledger;
    struct dw_call_profile *profile;
    struct dw_call_log_function {
        dw_place_id place; /* 0: not asked for yet */
        uint32_t same_as;  /* the first one that has this place */
    } * functions;
    uint32_t function_capacity;
    uint32_t *first_of; /* by place: 1 + the first function that has it, or 0 */
    uint32_t first_capacity;
    struct dw_call_log_track {
        struct dw_call_log_node {
            dw_path_id path;       /* 0: none yet */
            uint32_t same_as : 31; /* the node of this path and these labels that gets its times */
            bool has_news : 1;     /* it, or something that it called */
            uint32_t plain;        /* the node that stands for the path, whatever the labels */
        } * nodes;
        uint32_t count, capacity;
        struct dw_call_times *written; /* what the log has, by node */
        uint32_t written_capacity;
        uint32_t thread, id;       /* in the ledger, and in the log */
        bool is_entered, is_named; /* there */
    } * tracks;
    uint32_t track_count, track_capacity;
};

/* The ledger is the caller's. */
void dw_call_log_release(struct dw_call_log *log);
/* Writes what a log's profile has new. */
dw_collect dw_calls_collect;

/* From now on the profile goes to the file too, until stop. 0 or an error. */
int dw_call_log_start(struct dw_call_profile *profile, const char *path);
void dw_call_log_stop(struct dw_call_profile *profile);

#endif
