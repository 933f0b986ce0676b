/* SPDX-License-Identifier: MIT
 * Order matters: events are taken before the definitions are written, so every
 * path that an event names is defined by the time the event is in the log. */
#define _GNU_SOURCE
#include "record/drain.h"

#include "base/error.h"
#include "record/recorder.h"
#include "record/timeline.h"

#include <stdlib.h>
#include <string.h>

struct dw_node_written {
    uint64_t count, open, children, suspended;
    uint32_t *blocks[DW_NODE_BLOCKS];
};

/* A consistent copy of a node's numbers, whatever its owner does meanwhile. */
static void read_node(struct dw_node *node, uint64_t now, struct dw_metric *metric)
{
    uint32_t before, after;
    uint64_t low, high, open_since;
    do {
        before = atomic_load_explicit(&node->sequence, memory_order_acquire);
        metric->count = dw_shared_get(&node->count);
        metric->total = dw_shared_get(&node->total);
        metric->suspended = dw_shared_get(&node->suspended);
        metric->children = dw_shared_get(&node->children);
        metric->cpu = dw_shared_get(&node->cpu);
        metric->min = dw_shared_get(&node->min);
        metric->max = dw_shared_get(&node->max);
        metric->open = dw_shared_get(&node->open);
        open_since = dw_shared_get(&node->open_since);
        low = dw_shared_get(&node->squares_low);
        high = dw_shared_get(&node->squares_high);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&node->sequence, memory_order_relaxed);
    } while (before != after || before & 1);
    metric->sum_squares = (unsigned __int128)high << 64 | low;
    metric->open_total = metric->open * now - open_since;
    if ((int64_t)metric->open_total < 0) /* entered after `now` was read */
        metric->open_total = 0;
    metric->total += metric->open_total;
    if (metric->min == UINT64_MAX) /* no entry has ended; counters have no duration */
        metric->min = 0;
}

/* Adds the buckets of a block to the histogram; with a memory, only the changed ones. */
static int read_block(const uint32_t *hits, uint32_t first_bucket, uint32_t *known,
                      struct dw_histogram *histogram)
{
    int error = 0;
    for (uint32_t i = 0; i < DW_NODE_BLOCK && !error; i++) {
        uint32_t count = atomic_load_explicit((_Atomic uint32_t *)&hits[i], memory_order_relaxed);
        if (count == (known ? known[i] : 0))
            continue;
        if (known)
            known[i] = count;
        error = dw_histogram_set(histogram, first_bucket + i, count);
    }
    return error;
}

static int read_histogram(struct dw_node *node, struct dw_node_written *written,
                          struct dw_histogram *histogram)
{
    int error = 0;
    histogram->count = 0;
    for (uint32_t b = 0; b < DW_NODE_BLOCKS && !error; b++) {
        uint32_t *hits = atomic_load_explicit(&node->blocks[b], memory_order_acquire);
        if (!hits)
            continue;
        if (written && !written->blocks[b])
            written->blocks[b] = calloc(DW_NODE_BLOCK, sizeof *hits);
        error = read_block(hits, b * DW_NODE_BLOCK, written ? written->blocks[b] : NULL, histogram);
    }
    return error;
}

/* The log would not be complete: it ends here. */
static void fail(struct dw_drain *drain, int error)
{
    if (!drain->writer.error)
        drain->writer.error = error;
}

/* Whether the log's idea of the node is out of date; remembers the new one. */
static bool is_news(struct dw_node_written *written, const struct dw_metric *metric)
{
    bool news = metric->count != written->count || metric->open != written->open ||
                metric->children != written->children || metric->suspended != written->suspended;
    written->count = metric->count;
    written->open = metric->open;
    written->children = metric->children;
    written->suspended = metric->suspended;
    return news;
}

static void write_node(struct dw_drain *drain, struct dw_node *node, uint64_t now,
                       struct dw_metric *metric)
{
    struct dw_node_written *written = NULL;
    if (!drain->is_snapshot && !drain->is_last) {
        if (!node->written)
            node->written = calloc(1, sizeof *written);
        written = node->written;
    }
    read_node(node, now, metric);
    if (written && !is_news(written, metric))
        return;
    int error = read_histogram(node, written, &metric->histogram);
    if (error)
        fail(drain, error);
    dw_log_values_add(&drain->writer, node->path, metric, now);
}

static void write_values(struct dw_drain *drain, struct dw_track *track)
{
    struct dw_metric metric = {0};
    dw_log_values_begin(&drain->writer, track->id);
    uint64_t now = dw_tick();
    pthread_mutex_lock(&track->lock);
    for (uint32_t i = 0; i < track->node_count; i++)
        if (track->nodes[i]->path < drain->paths)
            write_node(drain, track->nodes[i], now, &metric);
    pthread_mutex_unlock(&track->lock);
    dw_log_values_end(&drain->writer);
    dw_metric_release(&metric);
}

/* Under the tables' lock. The source text goes along with the first frame of its file. */
static void write_definitions(struct dw_drain *drain, struct dw_tables *tables)
{
    struct dw_log_writer *writer = &drain->writer;
    if (!drain->process_written)
        dw_log_write_process(writer, 0, &tables->process, &tables->strings);
    drain->process_written = true;
    dw_log_write_strings(writer, &tables->strings, drain->strings);
    dw_log_write_frames(writer, &tables->frames, drain->frames);
    dw_log_write_paths(writer, &tables->paths, drain->paths);
    for (uint32_t i = drain->frames; i < tables->frames.count && !drain->is_snapshot; i++)
        dw_log_write_source_once(writer, &tables->strings, tables->frames.frames[i].file);
    drain->strings = tables->strings.count;
    drain->frames = tables->frames.count;
    drain->paths = tables->paths.count;
}

static void write_track(struct dw_drain *drain, struct dw_track *track)
{
    pthread_mutex_lock(&track->lock);
    if (drain->is_snapshot || !track->name_written)
        dw_log_write_thread(&drain->writer, track->id, 0, track->tid,
                            (struct dw_string){track->name, strlen(track->name)});
    if (!drain->is_snapshot)
        track->name_written = true;
    pthread_mutex_unlock(&track->lock);
}

static void write_buffer(struct dw_log_writer *writer, struct dw_event_buffer *buffer,
                         uint32_t size)
{
    if (buffer->written == size)
        return;
    dw_log_write_events(writer, buffer->track, buffer->sequence, buffer->base_tick, buffer->top,
                        buffer->bytes, size);
    buffer->written = size;
}

static void write_events(struct dw_log_writer *writer, struct dw_event_batch *batch)
{
    for (struct dw_event_buffer *buffer = batch->full; buffer; buffer = buffer->next)
        write_buffer(writer, buffer, atomic_load_explicit(&buffer->size, memory_order_acquire));
    for (uint32_t i = 0; i < batch->growing_count; i++)
        write_buffer(writer, batch->growing[i], batch->sizes[i]);
}

/* The tracks that this run writes: those not yet written for the last time. */
static struct dw_track **copy_tracks(struct dw_drain *drain, struct dw_tables *tables,
                                     uint32_t *count)
{
    *count = 0;
    pthread_mutex_lock(&tables->lock);
    struct dw_track **tracks = malloc((tables->track_count + 1) * sizeof(struct dw_track *));
    for (uint32_t i = 0; tracks && i < tables->track_count; i++)
        if (drain->is_snapshot || !tables->tracks[i]->final_written)
            tracks[(*count)++] = tables->tracks[i];
    for (uint32_t i = 0; tracks && i < *count; i++)
        tracks[i]->final_writing = atomic_load_explicit(&tracks[i]->ended, memory_order_acquire);
    if (tracks && drain->is_snapshot && tables->folded)
        tracks[(*count)++] = tables->folded;
    pthread_mutex_unlock(&tables->lock);
    return tracks;
}

static void write_thread(struct dw_drain *drain, struct dw_track *track)
{
    write_values(drain, track);
    if (!drain->is_snapshot)
        track->final_written = track->final_writing;
}

/* Taken in two turns: the tracks and their events first, then the definitions,
 * so that threads which appear meanwhile wait for the next run. */
void dw_drain_run(struct dw_drain *drain, struct dw_tables *tables)
{
    uint32_t count;
    struct dw_event_batch batch = {0};
    struct dw_track **tracks = copy_tracks(drain, tables, &count);
    if (!tracks)
        return fail(drain, DW_ERR_MEMORY);
    bool with_events = !drain->is_snapshot && !dw_timeline_take(tracks, count, &batch);
    if (!with_events && drain->is_last)
        fail(drain, DW_ERR_MEMORY);
    pthread_mutex_lock(&tables->lock);
    write_definitions(drain, tables);
    pthread_mutex_unlock(&tables->lock);
    for (uint32_t i = 0; i < count; i++)
        write_track(drain, tracks[i]);
    if (with_events)
        write_events(&drain->writer, &batch);
    for (uint32_t i = 0; i < count; i++)
        write_thread(drain, tracks[i]);
    struct dw_clock_pair now = dw_clock_pair_now();
    dw_log_write_clock(&drain->writer, 0, &now);
    if (!drain->is_snapshot)
        dw_timeline_recycle(&batch);
    free(tracks);
}

void dw_drain_release(struct dw_drain *drain)
{
    dw_log_writer_release(&drain->writer);
    *drain = (struct dw_drain){0};
}

void dw_node_fold(struct dw_node *into, struct dw_node *from)
{
    dw_shared_u64 *sums[][2] = {{&into->count, &from->count},
                                {&into->total, &from->total},
                                {&into->suspended, &from->suspended},
                                {&into->children, &from->children},
                                {&into->cpu, &from->cpu}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        dw_shared_add(sums[i][0], dw_shared_get(sums[i][1]));
    if (dw_shared_get(&from->min) < dw_shared_get(&into->min))
        dw_shared_set(&into->min, dw_shared_get(&from->min));
    if (dw_shared_get(&from->max) > dw_shared_get(&into->max))
        dw_shared_set(&into->max, dw_shared_get(&from->max));
    uint64_t low = dw_shared_get(&into->squares_low) + dw_shared_get(&from->squares_low);
    uint64_t carry = low < dw_shared_get(&from->squares_low);
    dw_shared_set(&into->squares_low, low);
    dw_shared_add(&into->squares_high, dw_shared_get(&from->squares_high) + carry);
    for (uint32_t b = 0; b < DW_NODE_BLOCKS; b++) {
        if (from->blocks[b] && !into->blocks[b])
            dw_node_block_slow(into, b);
        for (uint32_t i = 0; from->blocks[b] && into->blocks[b] && i < DW_NODE_BLOCK; i++)
            into->blocks[b][i] += from->blocks[b][i];
    }
}

void dw_node_free(struct dw_node *node)
{
    for (uint32_t b = 0; b < DW_NODE_BLOCKS; b++) {
        free(node->blocks[b]);
        if (node->written)
            free(node->written->blocks[b]);
    }
    free(node->written);
    free(node);
}
