/* SPDX-License-Identifier: MIT
 * What the parts of the recorder share. Locks, in the order they are taken: the
 * flusher's (the log), tables.lock, a track's lock, the timeline's queue. */
#ifndef DW_RECORD_STATE_H
#define DW_RECORD_STATE_H

#include "record/drain.h"
#include "record/recorder.h"

struct dw_recorder {
    struct dw_tables tables;
    struct dw_record_options options;
    uint32_t recording; /* counts them; a generation lasts until the next fork or stop */
    bool is_fork;       /* a child that has not recorded anything of its own yet */
    uint32_t next_track_id;
    _Atomic uint64_t dropped;
    atomic_bool is_reported; /* the program shows its regions itself */
};

extern struct dw_recorder dw_recorder;

/* recorder.c: what the log says of this process. */
void dw_recorder_new_uuid(struct dw_process *process);
void dw_recorder_describe_process(void);
void dw_recorder_describe_text(const char *key, const char *value);

/* tracks.c */
bool dw_tracks_register(struct dw_track *track);
void dw_tracks_forget(void);
uint64_t dw_tracks_thread_id(void);

/* flusher.c: the thread that writes the log, and the log itself. */
int dw_flusher_open(const char *path);
/* In a forked child: leaves the parent's file alone, and opens one of our own. */
void dw_flusher_disown(void);
void dw_flusher_open_child(void);
int dw_flusher_close(void);
bool dw_flusher_has_log(void);
void dw_flusher_start(void);
/* The next entry of any thread brings it. */
void dw_flusher_start_later(void);
void dw_flusher_stop(void);
/* Around a fork the flusher is not there; the next entry brings it back. */
void dw_flusher_pause(void);
void dw_flusher_unpause(void);
bool dw_flusher_try_lock(void);
void dw_flusher_lock(void);
void dw_flusher_unlock(void);

/* fork.c */
void dw_fork_init(void);
void dw_fork_continue(void);

#endif
