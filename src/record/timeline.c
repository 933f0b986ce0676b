/* SPDX-License-Identifier: MIT
 * A producer that runs ahead of the disk writes for itself rather than drop. */
#include "record/timeline.h"

#include "base/error.h"
#include "record/recorder.h"

#include <stdlib.h>

#define QUEUE_KICK 4 /* full buffers that wake the flusher */
#define QUEUE_MAX 64 /* full buffers at which the producer writes too */
#define EVENT_LIMIT (DW_EVENT_BUFFER_SIZE - DW_EVENT_MAX)

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_event_buffer *queue_head, **queue_tail = &queue_head;
static uint32_t queue_count;
static struct dw_event_buffer *spare;

static struct dw_event_buffer *new_buffer(void)
{
    struct dw_event_buffer *buffer = spare;
    if (buffer)
        spare = buffer->next;
    else
        buffer = malloc(sizeof *buffer);
    return buffer;
}

static void start_buffer(struct dw_track *track, struct dw_event_buffer *buffer, uint64_t now,
                         dw_path_id top)
{
    buffer->next = NULL;
    buffer->track = track->id;
    buffer->sequence = track->event_sequence++;
    buffer->base_tick = buffer->last_tick = now;
    buffer->top = top;
    buffer->written = 0;
    atomic_store_explicit(&buffer->size, 0, memory_order_relaxed);
    atomic_store_explicit(&track->event_limit, EVENT_LIMIT, memory_order_relaxed);
    atomic_store_explicit(&track->events, buffer, memory_order_release);
}

static void enqueue(struct dw_event_buffer *buffer)
{
    *queue_tail = buffer;
    queue_tail = &buffer->next;
    queue_count++;
}

/* Queues the current buffer and starts another; NULL when out of memory. */
static struct dw_event_buffer *next_buffer(struct dw_track *track, uint64_t now, dw_path_id top)
{
    pthread_mutex_lock(&queue_lock);
    struct dw_event_buffer *old = track->events, *fresh = new_buffer();
    if (fresh) {
        start_buffer(track, fresh, now, top);
        if (old)
            enqueue(old);
    }
    uint32_t waiting = queue_count;
    pthread_mutex_unlock(&queue_lock);
    if (waiting >= QUEUE_MAX)
        dw_recorder_flush();
    else if (waiting >= QUEUE_KICK)
        dw_recorder_kick();
    return fresh;
}

/* `top` was open before the event. */
static void put_event(struct dw_track *track, dw_path_id top, uint64_t now, enum dw_event_kind kind,
                      dw_path_id path, int64_t value)
{
    struct dw_event_buffer *buffer = atomic_load_explicit(&track->events, memory_order_relaxed);
    uint32_t size = buffer ? atomic_load_explicit(&buffer->size, memory_order_relaxed) : 0;
    if (!buffer || size > atomic_load_explicit(&track->event_limit, memory_order_relaxed)) {
        buffer = next_buffer(track, now, top);
        if (!buffer) {
            dw_recorder_drop(1);
            return;
        }
        size = 0;
    }
    uint64_t delta = now > buffer->last_tick ? now - buffer->last_tick : 0;
    uint8_t *end = dw_event_encode(buffer->bytes + size, delta, kind, path, value);
    buffer->last_tick += delta;
    atomic_store_explicit(&buffer->size, (uint32_t)(end - buffer->bytes), memory_order_release);
}

static void put_later(struct dw_track *track)
{
    dw_path_id path = track->later.path;
    track->later.path = 0;
    if (path)
        put_event(track, track->later.top, track->later.tick, DW_EVENT_ENTER, path, 0);
}

void dw_track_event(struct dw_track *track, uint64_t now, enum dw_event_kind kind, dw_path_id path,
                    int64_t value)
{
    put_later(track);
    put_event(track, dw_track_node(track)->path, now, kind, path, value);
}

void dw_track_enter_later(struct dw_track *track, uint64_t now, dw_path_id path)
{
    put_later(track);
    track->later.tick = now;
    track->later.path = path;
    track->later.top = dw_track_node(track)->path;
}

int dw_timeline_take(struct dw_track *const *tracks, uint32_t count, struct dw_event_batch *batch)
{
    batch->growing = malloc((count + 1) * sizeof *batch->growing);
    batch->sizes = malloc((count + 1) * sizeof *batch->sizes);
    batch->growing_count = 0;
    if (!batch->growing || !batch->sizes)
        return DW_ERR_MEMORY;
    pthread_mutex_lock(&queue_lock);
    batch->full = queue_head;
    queue_head = NULL;
    queue_tail = &queue_head;
    queue_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct dw_event_buffer *buffer = tracks[i]->events;
        uint32_t size = buffer ? atomic_load_explicit(&buffer->size, memory_order_acquire) : 0;
        if (!size || size == buffer->written)
            continue;
        batch->growing[batch->growing_count] = buffer;
        batch->sizes[batch->growing_count++] = size;
        /* The next event goes to a new buffer, so that this one is not written again and again. */
        atomic_store_explicit(&tracks[i]->event_limit, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&queue_lock);
    return 0;
}

void dw_timeline_recycle(struct dw_event_batch *batch)
{
    pthread_mutex_lock(&queue_lock);
    while (batch->full) {
        struct dw_event_buffer *buffer = batch->full;
        batch->full = buffer->next;
        buffer->next = spare;
        spare = buffer;
    }
    pthread_mutex_unlock(&queue_lock);
    free(batch->growing);
    free(batch->sizes);
}

void dw_timeline_restart(struct dw_track *track)
{
    queue_head = NULL;
    queue_tail = &queue_head;
    queue_count = 0;
    track->event_sequence = 0;
    track->later.path = 0;
    track->events = NULL;
    atomic_store(&track->event_limit, 0);
}

void dw_timeline_release(struct dw_track *track)
{
    struct dw_event_buffer *buffer = track->events;
    if (!buffer)
        return;
    pthread_mutex_lock(&queue_lock);
    buffer->next = spare;
    spare = buffer;
    pthread_mutex_unlock(&queue_lock);
}

void dw_timeline_lock(void)
{
    pthread_mutex_lock(&queue_lock);
}

void dw_timeline_unlock(void)
{
    pthread_mutex_unlock(&queue_lock);
}
