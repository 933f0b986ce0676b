/* SPDX-License-Identifier: MIT
 * Events on their way from a track to the log. The owner appends to its buffer
 * without a lock; a full buffer is queued for the flusher. The flusher may also
 * write the filled part of a buffer that is still growing. */
#ifndef DW_RECORD_TIMELINE_H
#define DW_RECORD_TIMELINE_H

#include "record/track.h"

#define DW_EVENT_BUFFER_SIZE (128 * 1024)

struct dw_event_buffer {
    struct dw_event_buffer *next;
    uint32_t track;
    uint32_t sequence;
    uint64_t base_tick;
    uint64_t last_tick;
    dw_path_id top;
    _Atomic uint32_t size;
    uint32_t written; /* bytes the log has already */
    uint8_t bytes[DW_EVENT_BUFFER_SIZE];
};

/* Buffers to write, oldest first, and how far each was filled when it was taken. */
struct dw_event_batch {
    struct dw_event_buffer *full; /* to be recycled after writing */
    struct dw_event_buffer **growing;
    uint32_t *sizes;
    uint32_t growing_count;
};

/* Takes all that there is to write from the tracks. 0 or DW_ERR_MEMORY. */
int dw_timeline_take(struct dw_track *const *tracks, uint32_t count, struct dw_event_batch *batch);
void dw_timeline_recycle(struct dw_event_batch *batch);
/* In a forked child: forgets what the parent will write, and gives the track a fresh buffer. */
void dw_timeline_restart(struct dw_track *track);
/* Gives back the buffer of a track that will not be used again. */
void dw_timeline_release(struct dw_track *track);
void dw_timeline_lock(void);
void dw_timeline_unlock(void);

#endif
