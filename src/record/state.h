/* SPDX-License-Identifier: MIT
 * What the parts of the recorder, which is the probe of regions, share. Its lock stands between
 * those of the ledger, whose header has the order of all. */
#ifndef DW_RECORD_STATE_H
#define DW_RECORD_STATE_H

#include "record/ledger.h"
#include "record/probes.h"
#include "record/recorder.h"

struct dw_recorder {
    pthread_mutex_t lock; /* guards names, places and the list of tracks */
    /* Names of regions live as long as the process: recordings come and go. */
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_ledger *ledger; /* of the recording, or of the last one; NULL: there was none */
    dw_place_id *place_of;    /* by frame: its place in the ledger, 0 when it has none yet */
    uint32_t place_capacity;
    dw_path_id last_path; /* of those that regions made in the ledger */
    uint32_t path_count;
    struct dw_track **tracks;
    uint32_t track_count, track_capacity;
    struct dw_track *folded; /* threads that ended, added up; only snapshots need it */
    struct dw_record_options options;
    _Atomic uint32_t recording; /* counts them; a generation lasts until the next fork or stop */
    atomic_bool is_fork;        /* a child that has not recorded anything of its own yet */
};

extern struct dw_recorder dw_recorder;
/* The ledger, until it is released; NULL: there is none. */
struct dw_ledger *dw_recorder_hold(void);
extern struct dw_probe dw_region_probe;

/* regions.c: from the tracks to a log. */
dw_collect dw_regions_collect;
/* Adds a node's numbers to another's. Nobody else may be using either. */
void dw_node_fold(struct dw_node *into, struct dw_node *from);
void dw_node_free(struct dw_node *node);
/* In a forked child: nothing was measured on it. */
void dw_node_restart(struct dw_node *node, uint64_t now);

/* tracks.c */
bool dw_tracks_register(struct dw_track *track);
/* Under the recorder's lock and the ledger's `file`. */
void dw_tracks_forget(void);
/* In a forked child, before its first entry: the thread that forked goes on. */
void dw_tracks_go_on(void);

/* flusher.c: the thread that brings regions to the log and reads gauges, while one of these users
 * wants it. */
enum { DW_FLUSHES_REGIONS = 1, DW_FLUSHES_GAUGES = 2 };
void dw_flusher_start(unsigned user);
/* The next entry of any thread brings it. */
void dw_flusher_start_later(unsigned user);
void dw_flusher_stop(unsigned user);
/* Around a fork the flusher is not there; the next entry of a region brings it back. */
void dw_flusher_pause(void);
void dw_flusher_unpause(void);
void dw_flusher_forked(void);

#endif
