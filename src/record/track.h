/* SPDX-License-Identifier: MIT
 * The hot path. A track is one thread as the recorder sees it: its tree of
 * nodes (a path with what was measured on it) and its stack of spans (entries
 * that are open now). Only the owning thread writes a track; the flusher reads
 * nodes at any time under each node's sequence lock, so nothing here blocks. */
#ifndef DW_RECORD_TRACK_H
#define DW_RECORD_TRACK_H

#include "base/clock.h"
#include "base/map.h"
#include "model/event.h"
#include "model/histogram.h"
#include "model/path_tree.h"

#include <pthread.h>
#include <stdatomic.h>

#define DW_NODE_BLOCK 128 /* histogram buckets that are allocated together */
#define DW_NODE_BLOCKS (DW_HISTOGRAM_BUCKETS / DW_NODE_BLOCK)

/* Numbers that the owner writes and the flusher reads: relaxed, ordered by `sequence`. */
typedef _Atomic uint64_t dw_shared_u64;

struct dw_node {
    _Atomic uint32_t sequence; /* odd while the owner is writing */
    dw_path_id path;
    dw_frame_id frame;
    struct dw_node *parent;
    struct dw_node *last_child; /* the child entered last: most often the next one too */
    struct dw_track *track;
    dw_shared_u64 count, total, suspended, children, cpu, min, max;
    dw_shared_u64 open, open_since; /* open entries, and the sum of their start ticks */
    dw_shared_u64 squares_low, squares_high;
    _Atomic(uint32_t *) blocks[DW_NODE_BLOCKS];
    struct dw_node_written *written; /* the flusher's memory of what the log has */
};

struct dw_span {
    struct dw_span *below;
    struct dw_node *node;
    const void *key;   /* who opened it, to find it again at exit */
    const void *owner; /* the generator or coroutine that holds it, or NULL */
    uint64_t start;
    uint64_t active_since; /* start, or the last resumption */
    uint64_t suspended;    /* time asleep so far */
    uint64_t cpu;          /* CPU time before the last suspension */
    uint64_t cpu_since;    /* the thread's CPU time at active_since; 0: not measured */
    bool repeated;         /* a global region inside itself: only the outermost counts */
};

struct dw_track {
    struct dw_span *top;
    struct dw_span *free_spans;
    struct dw_node *root;
    uint64_t epoch;        /* entries older than this (before a fork) count from here */
    _Atomic bool timeline; /* keep events */
    _Atomic bool cpu;      /* measure CPU time too */
    uint32_t recording;    /* the recording it belongs to */
    uint32_t generation;   /* of the recorder when its thread last came by dw_track_get_slow */
    uint64_t tid;          /* of its thread */
    uint32_t thread;       /* in the ledger, and */
    uint32_t id;           /* how the log calls it */
    bool has_forked;       /* its thread made this process, and has not come by since */
    _Atomic bool ended;    /* the thread is gone; the flusher writes it a last time */
    struct dw_event_buffer *_Atomic events;
    _Atomic uint32_t event_limit; /* a longer buffer is full, or wanted by the flusher */
    uint32_t event_sequence;
    struct {
        uint64_t tick;
        dw_path_id path, top; /* 0: none; what was open before it */
    } later;                  /* an entry that may turn out to be none, not among the events yet */
    pthread_mutex_t lock;     /* nodes: their creation and the flusher's reading */
    struct dw_node **nodes;
    uint32_t node_count, node_capacity;
    struct dw_map index;
    bool final_writing; /* it had ended before its events were taken for the log */
    bool final_written; /* the log has all of a thread that ended */
};

extern __thread struct dw_track *dw_track_here __attribute__((tls_model("initial-exec")));

/* Slow paths, in track.c and timeline.c. NULL (or nothing) when out of memory. */
struct dw_node *dw_track_child_slow(struct dw_track *track, struct dw_node *parent,
                                    dw_frame_id frame);
struct dw_span *dw_track_span_slow(struct dw_track *track);
/* Gives the free spans of a thread that ends to whoever needs some next. */
void dw_track_leave_spans(struct dw_track *track);
void dw_track_after_fork(void);
void dw_node_block_slow(struct dw_node *node, uint32_t block);
void dw_track_event(struct dw_track *track, uint64_t now, enum dw_event_kind kind, dw_path_id path,
                    int64_t value);
/* An ENTER that becomes an event when another follows. */
void dw_track_enter_later(struct dw_track *track, uint64_t now, dw_path_id path);
uint64_t dw_track_cpu_ns(void);

static inline void dw_shared_add(dw_shared_u64 *number, uint64_t amount)
{
    uint64_t old = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, old + amount, memory_order_relaxed);
}

static inline uint64_t dw_shared_get(dw_shared_u64 *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static inline void dw_shared_set(dw_shared_u64 *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

static inline void dw_node_write_begin(struct dw_node *node)
{
    uint32_t sequence = atomic_load_explicit(&node->sequence, memory_order_relaxed);
    atomic_store_explicit(&node->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static inline void dw_node_write_end(struct dw_node *node)
{
    uint32_t sequence = atomic_load_explicit(&node->sequence, memory_order_relaxed);
    atomic_store_explicit(&node->sequence, sequence + 1, memory_order_release);
}

static inline struct dw_node *dw_track_node(struct dw_track *track)
{
    return track->top ? track->top->node : track->root;
}

static inline struct dw_node *dw_track_child(struct dw_track *track, struct dw_node *parent,
                                             dw_frame_id frame)
{
    struct dw_node *child = parent->last_child;
    if (__builtin_expect(child && child->frame == frame, 1))
        return child;
    return dw_track_child_slow(track, parent, frame);
}

/* Opens `frame` under `parent` (the top's node, or the root for a global region). `may_be_none`:
 * dw_span_close may say that it was no entry. */
static inline struct dw_span *dw_span_open(struct dw_track *track, struct dw_node *parent,
                                           dw_frame_id frame, const void *key, bool may_be_none)
{
    struct dw_node *node = dw_track_child(track, parent, frame);
    struct dw_span *span = track->free_spans;
    if (__builtin_expect(!span, 0))
        span = dw_track_span_slow(track);
    if (__builtin_expect(!node || !span, 0))
        return NULL;
    track->free_spans = span->below;
    span->below = track->top;
    span->node = node;
    span->key = key;
    span->owner = NULL;
    span->suspended = span->cpu = span->cpu_since = 0;
    span->repeated = false;
    if (__builtin_expect(track->cpu, 0))
        span->cpu_since = dw_track_cpu_ns();
    uint64_t now = dw_tick();
    span->start = span->active_since = now;
    if (__builtin_expect(track->timeline, 0)) {
        if (may_be_none)
            dw_track_enter_later(track, now, node->path);
        else
            dw_track_event(track, now, DW_EVENT_ENTER, node->path, 0);
    }
    track->top = span;
    dw_node_write_begin(node);
    dw_shared_add(&node->open, 1);
    dw_shared_add(&node->open_since, now);
    dw_node_write_end(node);
    return span;
}

static inline void dw_node_count(struct dw_node *node, uint64_t duration)
{
    dw_shared_add(&node->count, 1);
    dw_shared_add(&node->total, duration);
    if (duration < dw_shared_get(&node->min))
        dw_shared_set(&node->min, duration);
    if (duration > dw_shared_get(&node->max))
        dw_shared_set(&node->max, duration);
    unsigned __int128 square = (unsigned __int128)duration * duration;
    square += (unsigned __int128)dw_shared_get(&node->squares_high) << 64 |
              dw_shared_get(&node->squares_low);
    dw_shared_set(&node->squares_low, (uint64_t)square);
    dw_shared_set(&node->squares_high, (uint64_t)(square >> 64));
}

static inline void dw_node_count_bucket(struct dw_node *node, uint64_t duration)
{
    uint32_t bucket = dw_histogram_bucket(duration);
    uint32_t *block =
        atomic_load_explicit(&node->blocks[bucket / DW_NODE_BLOCK], memory_order_relaxed);
    if (__builtin_expect(!block, 0)) {
        dw_node_block_slow(node, bucket / DW_NODE_BLOCK);
        block = atomic_load_explicit(&node->blocks[bucket / DW_NODE_BLOCK], memory_order_relaxed);
        if (!block)
            return;
    }
    _Atomic uint32_t *hits = (_Atomic uint32_t *)&block[bucket % DW_NODE_BLOCK];
    uint32_t old = atomic_load_explicit(hits, memory_order_relaxed);
    if (__builtin_expect(old != UINT32_MAX, 1))
        atomic_store_explicit(hits, old + 1, memory_order_relaxed);
}

/* When the entry began; in a forked child not before the fork. */
static inline uint64_t dw_span_start(const struct dw_track *track, const struct dw_span *span)
{
    return span->start < track->epoch ? track->epoch : span->start;
}

/* Ends the span, which must be the top, as of `now`. `counted` is false for an
 * entry that turned out to be none (the end of an iterator). */
static inline void dw_span_close(struct dw_track *track, struct dw_span *span, uint64_t now,
                                 bool counted)
{
    struct dw_node *node = span->node;
    uint64_t start = dw_span_start(track, span);
    uint64_t since = span->active_since < start ? start : span->active_since;
    if (__builtin_expect(track->timeline, 0)) {
        if (!counted && track->later.path)
            track->later.path = 0;
        else
            dw_track_event(track, now, DW_EVENT_EXIT, 0, 0);
    }
    dw_node_write_begin(node);
    dw_shared_add(&node->open, (uint64_t)-1);
    dw_shared_add(&node->open_since, -start);
    if (__builtin_expect(counted && !span->repeated, 1)) {
        dw_node_count(node, now - start);
        dw_node_count_bucket(node, now - start);
        if (__builtin_expect(span->cpu_since != 0, 0))
            dw_shared_add(&node->cpu, span->cpu + dw_track_cpu_ns() - span->cpu_since);
    } else if (!span->repeated) {
        dw_shared_add(&node->suspended, -span->suspended);
    }
    dw_node_write_end(node);
    track->top = span->below;
    if (__builtin_expect(counted, 1)) /* else it is time of what is around it */
        dw_shared_add(&dw_track_node(track)->children, now - since);
    span->below = track->free_spans;
    track->free_spans = span;
}

/* Spans that a generator holds leave the stack while it sleeps and come back
 * when it goes on: `segment` is the topmost of them, linked down to the lowest. */
struct dw_span *dw_track_suspend(struct dw_track *track, const void *owner);
void dw_track_resume(struct dw_track *track, struct dw_span *segment);
/* The track's own node for the same path as another track's node. */
struct dw_node *dw_track_adopt(struct dw_track *track, const struct dw_node *node);
struct dw_node *dw_track_add_root(struct dw_track *track);
/* In a forked child: finds the paths of its nodes in the ledger, which is a new one. */
void dw_track_find_paths(struct dw_track *track);
/* Ends a span that is not the top; those above it stay open. */
void dw_track_close_inner(struct dw_track *track, struct dw_span *span, bool counted);

#endif
