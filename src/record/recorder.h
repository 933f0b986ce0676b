/* SPDX-License-Identifier: MIT
 * The one recorder of a process, which is the probe of regions: their names, the tracks of its
 * threads, and the flusher that brings them to the ledger twice a second. */
#ifndef DW_RECORD_RECORDER_H
#define DW_RECORD_RECORDER_H

#include "log/writer.h"
#include "record/labels.h"
#include "record/track.h"

#define DW_FLUSHER_THREAD "dwell-flush" /* the name of the flusher */
/* Whether there may be a flusher that has no name yet. */
bool dw_flusher_is_starting(void);

struct dw_record_options {
    const char *log_file; /* NULL: only in memory */
    bool timeline;        /* keep every event; needs a log file */
    bool cpu;             /* measure CPU time beside wall time */
    bool beside;          /* another probe has the file: nothing is written before something is
                             marked, and until then there is no flusher */
};

extern _Atomic bool dw_recorder_active;

/* 0, DW_ERR_IO (the log file cannot be made), DW_ERR_MEMORY; already running: DW_ERR_ARGUMENT. */
int dw_recorder_start(const struct dw_record_options *options);
/* Writes everything, closes the log. Tracks stay readable for dw_recorder_snapshot. */
int dw_recorder_stop(void);
/* Writes everything that there is now. */
void dw_recorder_flush(void);
/* The same while it records, as the last thing before the process is gone or becomes another
 * program. */
void dw_recorder_flush_last(void);
/* Wakes the flusher. [cheap] */
void dw_recorder_kick(void);
/* A whole log of the aggregates as of now, into memory; the caller releases the writer. */
int dw_recorder_snapshot(struct dw_log_writer *writer);
/* Turns on what another caller of start wants too: a timeline or CPU time, from now on. */
void dw_recorder_widen(const struct dw_record_options *options);
/* The program shows its regions itself when it ends: the end of the log says so, and nobody needs
 * to show them again. */
void dw_recorder_say_reported(void);
/* The log file in use ("" without one); valid until the next fork or start. */
const char *dw_recorder_log_file(void);

/* The calling thread's track, made when absent; NULL when not recording or out of memory. */
struct dw_track *dw_track_get_slow(void);
static inline struct dw_track *dw_track_get(void);
/* Called in the thread that got a new track, if set: the probe knows better names. */
extern void (*dw_track_created)(struct dw_track *track);
void dw_track_set_name(struct dw_track *track, const char *name, size_t size);

/* Interning, for probes. 0 or an error. */
int dw_recorder_frame(enum dw_frame_kind kind, const void *name, size_t name_size, const void *file,
                      size_t file_size, uint32_t line, dw_frame_id *frame);
/* A path in the ledger of that recording, unless it is over. Past a million paths everything new
 * becomes one frame, which `frame` then names. */
int dw_recorder_path(uint32_t recording, dw_path_id parent, dw_frame_id *frame, dw_path_id *path);
/* Adds to a counter, or marks an instant, now. */
void dw_recorder_count(dw_frame_id counter, int64_t amount);
void dw_recorder_instant(dw_frame_id instant);
void dw_recorder_drop(uint64_t events);

extern _Atomic uint32_t dw_recorder_generation;

/* The frame of the innermost region that a thread is in, 0 when it is in none: of the calling
 * thread, which may be interrupted anywhere [signal-safe]; of another one, which seems to sleep. */
static inline dw_frame_id dw_region_here(void);
dw_frame_id dw_region_of_thread(uint64_t tid);
/* The set of labels (record/labels.h) with the region as one more; the same set for frame 0. */
dw_labels_id dw_region_label(dw_labels_id labels, dw_frame_id region);

static inline dw_frame_id dw_region_here(void)
{
    const struct dw_track *track = dw_track_here;
    if (!track || track->generation != dw_recorder_generation)
        return 0;
    const struct dw_span *top = track->top;
    return top && top->node ? top->node->frame : 0;
}

static inline struct dw_track *dw_track_get(void)
{
    struct dw_track *track = dw_track_here;
    if (__builtin_expect(track && track->generation == dw_recorder_generation, 1))
        return track;
    return dw_track_get_slow();
}

#endif
