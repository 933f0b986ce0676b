/* SPDX-License-Identifier: MIT
 * The timeline: per thread, blocks of encoded events that stay compressed in
 * memory and are decoded one at a time, so a hostile log cannot make a reader
 * allocate more than the log's own size. Within a thread the events always
 * nest: each EXIT or SUSPEND ends the entry begun last. */
#ifndef DW_MODEL_EVENT_H
#define DW_MODEL_EVENT_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/varint.h"
#include "model/path_tree.h"

/* Numbers are part of the log format; they take 3 bits. */
enum dw_event_kind {
    DW_EVENT_ENTER = 0,   /* a path begins */
    DW_EVENT_EXIT = 1,    /* the entry begun last ends */
    DW_EVENT_SUSPEND = 2, /* the entry begun last sleeps with its generator or task */
    DW_EVENT_RESUME = 3,  /* a path that slept goes on */
    DW_EVENT_INSTANT = 4, /* a point in time */
    DW_EVENT_COUNTER = 5, /* a counter's new value */
};

struct dw_event {
    uint64_t time_ns; /* on the wall clock */
    enum dw_event_kind kind;
    dw_path_id path; /* of ENTER, RESUME, INSTANT and COUNTER */
    int64_t value;   /* of COUNTER */
};

static inline bool dw_event_has_path(enum dw_event_kind kind)
{
    return kind != DW_EVENT_EXIT && kind != DW_EVENT_SUSPEND;
}

/* Encodes one event after another: varint(delta << 3 | kind), then what the kind needs.
 * `at` has room for DW_EVENT_MAX bytes; returns the end. [signal-safe] */
#define DW_EVENT_MAX (3 * DW_VARINT_MAX)
static inline uint8_t *dw_event_encode(uint8_t *at, uint64_t delta_ticks, enum dw_event_kind kind,
                                       dw_path_id path, int64_t value)
{
    at = dw_varint_put(at, delta_ticks << 3 | kind);
    if (dw_event_has_path(kind))
        at = dw_varint_put(at, path);
    if (kind == DW_EVENT_COUNTER)
        at = dw_varint_put(at, dw_zigzag(value));
    return at;
}

struct dw_event_block {
    uint32_t thread;   /* index into the profile's threads */
    uint32_t sequence; /* counts the thread's blocks; a gap means a lost one */
    uint64_t base_tick;
    dw_path_id top;   /* open path at the block's start, in the profile's ids */
    uint8_t *payload; /* zstd frame, owned */
    size_t size;
    size_t raw_size;
};

/* Decodes a block. The map turns the log's path ids into the profile's. */
struct dw_event_reader {
    struct dw_cursor cursor;
    uint8_t *raw;
    uint64_t tick;
    struct dw_clock_rate rate;
    struct dw_clock_pair epoch;
    const struct dw_path_map *map;
};

struct dw_profile;
int dw_event_reader_init(struct dw_event_reader *reader, const struct dw_profile *profile,
                         const struct dw_event_block *block);
/* False at the end of the block (or at damage inside it). */
bool dw_event_next(struct dw_event_reader *reader, struct dw_event *event);
void dw_event_reader_release(struct dw_event_reader *reader);

#endif
