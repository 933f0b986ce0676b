/* SPDX-License-Identifier: MIT
 * A calls profile as a log: a whole one in memory, or a file that grows while the
 * program runs. The GIL guards it. */
#ifndef DW_PROBE_CALL_CALL_LOG_H
#define DW_PROBE_CALL_CALL_LOG_H

#include "probe/call/calls.h"
#include "probe/probe_log.h"

/* Ticks of one node, with those of calls that are still open. */
struct dw_call_times {
    uint64_t count, total, self;
};

struct dw_call_log {
    struct dw_probe_log base;
    struct dw_call_log_function {
        dw_frame_id frame;
        uint32_t same_as; /* the first one that has this frame */
    } * functions;
    uint32_t function_count, function_capacity;
    uint32_t *first_of; /* by frame: 1 + the first function that has it, or 0 */
    uint32_t first_capacity;
    struct dw_call_log_track {
        struct dw_call_log_node {
            dw_path_id path;
            uint32_t same_as; /* the node that has the path, and gets this one's times */
        } * nodes;
        uint32_t count, capacity;
        struct dw_call_times *written; /* what the log has, by node */
        uint32_t written_capacity;
        bool is_named; /* the log knows the thread by its name */
    } * tracks;
    uint32_t track_count, track_capacity;
};

/* `path` NULL: in memory. 0 or an error. */
int dw_call_log_open(struct dw_call_log *log, const char *path, const struct dw_clock_pair *began);
/* Brings the log up to date; the last flush says that the log is complete. */
int dw_call_log_flush(struct dw_call_log *log, const struct dw_call_profile *profile, bool last);
void dw_call_log_release(struct dw_call_log *log);

#endif
