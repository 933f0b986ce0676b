/* SPDX-License-Identifier: MIT
 * The cold parts of the hot path: new nodes and spans, suspension, and entries
 * that end out of order. */
#include "record/track.h"

#include "base/grow.h"
#include "record/recorder.h"

#include <string.h>

#define SPANS_AT_ONCE 64

__thread struct dw_track *dw_track_here __attribute__((tls_model("initial-exec")));

struct node_key {
    dw_path_id parent;
    dw_frame_id frame;
};

static uint64_t hash_key(dw_path_id parent, dw_frame_id frame)
{
    return dw_hash_mix((uint64_t)parent << 32 | frame);
}

static bool equal(const void *entries, uint32_t id, const void *key)
{
    const struct dw_node *node = ((struct dw_node *const *)entries)[id];
    const struct node_key *wanted = key;
    return node->parent && node->parent->path == wanted->parent && node->frame == wanted->frame;
}

static struct dw_node *new_node(struct dw_track *track, struct dw_node *parent, dw_frame_id frame,
                                dw_path_id path)
{
    struct dw_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->path = path;
    node->frame = frame;
    node->parent = parent;
    node->track = track;
    dw_shared_set(&node->min, UINT64_MAX);
    return node;
}

static struct dw_node *add_node(struct dw_track *track, struct dw_node *parent, dw_frame_id frame)
{
    dw_path_id path = DW_PATH_ROOT;
    dw_frame_id wanted = frame;
    if (parent && dw_recorder_path(track->recording, parent->path, &frame, &path))
        return NULL;
    if (frame != wanted) /* there are too many paths: this one stands for the rest */
        parent = track->root;
    struct node_key key = {parent ? parent->path : 0, frame};
    struct dw_node *node = NULL;
    pthread_mutex_lock(&track->lock);
    uint32_t found =
        dw_map_find(&track->index, hash_key(key.parent, frame), equal, track->nodes, &key);
    if (found != DW_MAP_NONE)
        node = track->nodes[found];
    else if (!DW_GROW(track->nodes, track->node_count, track->node_capacity))
        node = new_node(track, parent, frame, path);
    if (node && found == DW_MAP_NONE) {
        track->nodes[track->node_count] = node;
        if (parent && dw_map_put(&track->index, hash_key(key.parent, frame), track->node_count)) {
            free(node);
            node = NULL;
        }
        track->node_count += node != NULL;
    }
    pthread_mutex_unlock(&track->lock);
    return node;
}

struct dw_node *dw_track_child_slow(struct dw_track *track, struct dw_node *parent,
                                    dw_frame_id frame)
{
    struct node_key key = {parent->path, frame};
    uint32_t found =
        dw_map_find(&track->index, hash_key(parent->path, frame), equal, track->nodes, &key);
    struct dw_node *node =
        found != DW_MAP_NONE ? track->nodes[found] : add_node(track, parent, frame);
    if (node)
        parent->last_child = node;
    else
        dw_recorder_drop(1);
    return node;
}

void dw_track_find_paths(struct dw_track *track)
{
    dw_map_release(&track->index);
    for (uint32_t i = 0; i < track->node_count; i++) {
        struct dw_node *node = track->nodes[i];
        dw_frame_id frame = node->frame;
        if (!node->parent)
            continue;
        dw_recorder_path(track->recording, node->parent->path, &frame, &node->path);
        dw_map_put(&track->index, hash_key(node->parent->path, node->frame), i);
    }
}

struct dw_node *dw_track_add_root(struct dw_track *track)
{
    return add_node(track, NULL, 0);
}

/* Spans move between threads with the generators that hold them, so they belong to no
 * track: a thread that ends leaves its free ones to the next. */
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_span *spare_spans;

struct dw_span *dw_track_span_slow(struct dw_track *track)
{
    pthread_mutex_lock(&spare_lock);
    track->free_spans = spare_spans;
    spare_spans = NULL;
    pthread_mutex_unlock(&spare_lock);
    if (track->free_spans)
        return track->free_spans;
    struct dw_span *spans = calloc(SPANS_AT_ONCE, sizeof *spans);
    for (int i = 0; spans && i < SPANS_AT_ONCE; i++) {
        spans[i].below = track->free_spans;
        track->free_spans = &spans[i];
    }
    if (!spans)
        dw_recorder_drop(1);
    return track->free_spans;
}

void dw_track_after_fork(void)
{
    pthread_mutex_init(&spare_lock, NULL); /* its holder may not exist here */
}

void dw_track_leave_spans(struct dw_track *track)
{
    struct dw_span *last = track->free_spans;
    while (last && last->below)
        last = last->below;
    if (!last)
        return;
    pthread_mutex_lock(&spare_lock);
    last->below = spare_spans;
    spare_spans = track->free_spans;
    pthread_mutex_unlock(&spare_lock);
    track->free_spans = NULL;
}

void dw_node_block_slow(struct dw_node *node, uint32_t block)
{
    uint32_t *hits = calloc(DW_NODE_BLOCK, sizeof *hits);
    atomic_store_explicit(&node->blocks[block], hits, memory_order_release);
    if (!hits)
        dw_recorder_drop(1);
}

uint64_t dw_track_cpu_ns(void)
{
    return dw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The node below a span, whose time includes the span's. */
static struct dw_node *node_below(struct dw_track *track, const struct dw_span *span)
{
    return span->below ? span->below->node : track->root;
}

struct dw_span *dw_track_suspend(struct dw_track *track, const void *owner)
{
    struct dw_span *segment = track->top, *lowest = NULL;
    uint64_t now = dw_tick();
    for (struct dw_span *span = segment; span && span->owner == owner; span = span->below) {
        uint64_t slice = now - span->active_since;
        span->active_since = now;
        if (span->cpu_since)
            span->cpu += dw_track_cpu_ns() - span->cpu_since;
        dw_shared_add(&node_below(track, span)->children, slice);
        if (track->timeline)
            dw_track_event(track, now, DW_EVENT_SUSPEND, 0, 0);
        track->top = span->below;
        lowest = span;
    }
    if (!lowest)
        return NULL;
    lowest->below = NULL;
    return segment;
}

/* A generator may go on in another thread: its entries then count there. */
static void move_to_track(struct dw_track *track, struct dw_span *span)
{
    struct dw_node *from = span->node;
    struct dw_node *to = dw_track_adopt(track, from);
    uint64_t start = dw_span_start(track, span);
    if (!to)
        return;
    dw_node_write_begin(from);
    dw_shared_add(&from->open, (uint64_t)-1);
    dw_shared_add(&from->open_since, -start);
    dw_shared_add(&from->suspended, -span->suspended);
    dw_node_write_end(from);
    dw_node_write_begin(to);
    dw_shared_add(&to->open, 1);
    dw_shared_add(&to->open_since, start);
    dw_shared_add(&to->suspended, span->suspended);
    dw_node_write_end(to);
    span->node = to;
}

static struct dw_span *reversed(struct dw_span *segment)
{
    struct dw_span *lowest = NULL;
    while (segment) {
        struct dw_span *below = segment->below;
        segment->below = lowest;
        lowest = segment;
        segment = below;
    }
    return lowest;
}

void dw_track_resume(struct dw_track *track, struct dw_span *segment)
{
    uint64_t now = dw_tick();
    for (struct dw_span *span = reversed(segment), *above; span; span = above) {
        above = span->below;
        if (span->node->track != track)
            move_to_track(track, span);
        if (!span->repeated)
            dw_shared_add(&span->node->suspended, now - span->active_since);
        span->suspended += now - span->active_since;
        span->active_since = now;
        if (span->cpu_since)
            span->cpu_since = dw_track_cpu_ns();
        if (track->timeline)
            dw_track_event(track, now, DW_EVENT_RESUME, span->node->path, 0);
        span->below = track->top;
        track->top = span;
    }
}

/* The events of a track always nest, so those above end and begin again. */
void dw_track_close_inner(struct dw_track *track, struct dw_span *span, bool counted)
{
    struct dw_span *above = NULL, *at = track->top;
    uint64_t now = dw_tick();
    while (at && at != span) {
        struct dw_span *below = at->below;
        dw_shared_add(&node_below(track, at)->children, now - at->active_since);
        at->active_since = now;
        if (track->timeline)
            dw_track_event(track, now, DW_EVENT_SUSPEND, 0, 0);
        at->below = above;
        above = at;
        at = track->top = below;
    }
    if (at)
        dw_span_close(track, at, now, counted);
    for (struct dw_span *next; above; above = next) {
        next = above->below;
        if (track->timeline)
            dw_track_event(track, now, DW_EVENT_RESUME, above->node->path, 0);
        above->below = track->top;
        track->top = above;
    }
}

struct dw_node *dw_track_adopt(struct dw_track *track, const struct dw_node *node)
{
    size_t depth = 0;
    for (const struct dw_node *at = node; at->parent; at = at->parent)
        depth++;
    dw_frame_id *frames = malloc((depth + 1) * sizeof *frames);
    if (!frames)
        return NULL;
    size_t left = depth;
    for (const struct dw_node *at = node; at->parent; at = at->parent)
        frames[--left] = at->frame;
    struct dw_node *copy = track->root;
    for (size_t i = 0; copy && i < depth; i++)
        copy = dw_track_child(track, copy, frames[i]);
    free(frames);
    return copy;
}
