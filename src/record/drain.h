/* SPDX-License-Identifier: MIT
 * From the tracks to a log: what is new since the last time, or everything. */
#ifndef DW_RECORD_DRAIN_H
#define DW_RECORD_DRAIN_H

#include "log/writer.h"
#include "record/track.h"

/* What a log has been told so far. */
struct dw_drain {
    struct dw_log_writer writer;
    bool is_snapshot; /* everything at once, without the timeline */
    bool is_last;     /* all values once more, so that none rests on a chunk that may be lost */
    bool process_written;
    uint32_t strings, frames, paths; /* entries written */
};

/* The recorder's tables, as drain.c needs them; `lock` guards them. */
struct dw_tables {
    pthread_mutex_t lock;
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_path_tree paths;
    struct dw_process process;
    struct dw_track **tracks;
    uint32_t track_count, track_capacity;
    struct dw_track *folded; /* threads that ended, added up; only snapshots need it */
};

void dw_drain_run(struct dw_drain *drain, struct dw_tables *tables);
void dw_drain_release(struct dw_drain *drain);

/* Adds a node's numbers to another's. Nobody else may be using either. */
void dw_node_fold(struct dw_node *into, struct dw_node *from);
void dw_node_free(struct dw_node *node);

#endif
