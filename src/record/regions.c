/* SPDX-License-Identifier: MIT
 * From the tracks to a log: what is new since the last time, or everything. Order matters: events
 * are taken before the definitions are written, so every path that an event names is defined by the
 * time the event is in the log. */
#include "base/error.h"
#include "record/state.h"
#include "record/timeline.h"

#include <stdlib.h>
#include <string.h>

struct dw_node_written {
    uint64_t count, open, children, suspended;
    uint32_t *blocks[DW_NODE_BLOCKS];
};

/* What a node has of the measures of entries, in the order of their numbers. */
#define MEASURES (DW_OPEN_TOTAL + 1)

struct node_values {
    uint64_t numbers[MEASURES];
    struct dw_spread spread;
};

/* A consistent copy of a node's numbers, whatever its owner does meanwhile. */
static void read_node(struct dw_node *node, struct node_values *values)
{
    dw_shared_u64 *const from[MEASURES] = {
        [DW_COUNT] = &node->count,
        [DW_TOTAL] = &node->total,
        [DW_SUSPENDED] = &node->suspended,
        [DW_CHILDREN] = &node->children,
        [DW_ENTRY_CPU] = &node->cpu,
        [DW_MIN] = &node->min,
        [DW_MAX] = &node->max,
        [DW_OPEN] = &node->open,
        [DW_OPEN_TOTAL] = &node->open_since,
    };
    uint32_t before, after;
    uint64_t low, high;
    do {
        before = atomic_load_explicit(&node->sequence, memory_order_acquire);
        for (size_t i = 0; i < MEASURES; i++)
            values->numbers[i] = dw_shared_get(from[i]);
        low = dw_shared_get(&node->squares_low);
        high = dw_shared_get(&node->squares_high);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&node->sequence, memory_order_relaxed);
    } while (before != after || before & 1);
    values->spread.sum_squares = (unsigned __int128)high << 64 | low;
    if (values->numbers[DW_MIN] == UINT64_MAX) /* no entry has ended; counters have no duration */
        values->numbers[DW_MIN] = 0;
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
static void fail(struct dw_sink *sink, int error)
{
    if (!sink->writer.error)
        sink->writer.error = error;
}

/* Whether the log's idea of the node is out of date; remembers the new one. */
static bool is_news(struct dw_node_written *written, const uint64_t numbers[MEASURES])
{
    struct dw_node_written now = *written;
    now.count = numbers[DW_COUNT];
    now.open = numbers[DW_OPEN];
    now.children = numbers[DW_CHILDREN];
    now.suspended = numbers[DW_SUSPENDED];
    bool news = memcmp(written, &now, sizeof now) != 0;
    *written = now;
    return news;
}

/* CPU time only where it was asked for. */
static void write_row(struct dw_log_writer *writer, dw_path_id path, struct node_values *values)
{
    dw_measure_mask mask = DW_ENTRY_MASK;
    uint64_t *numbers = values->numbers;
    if (!numbers[DW_ENTRY_CPU]) {
        mask &= ~DW_MASK(DW_ENTRY_CPU);
        memmove(&numbers[DW_ENTRY_CPU], &numbers[DW_ENTRY_CPU + 1],
                (MEASURES - DW_ENTRY_CPU - 1) * sizeof *numbers);
    }
    bool is_spread = values->spread.sum_squares || values->spread.histogram.count;
    dw_log_rows_add(writer, path, DW_LABELS_NONE, mask, numbers,
                    is_spread ? &values->spread : NULL);
}

/* Whether a forked child knows the path from its parent only. */
static bool is_of_parent(const struct dw_node *node, const uint64_t numbers[MEASURES])
{
    return node->track->epoch && !numbers[DW_COUNT] && !numbers[DW_OPEN] && !numbers[DW_CHILDREN] &&
           !numbers[DW_SUSPENDED];
}

static void write_node(struct dw_sink *sink, struct dw_node *node, struct node_values *values)
{
    struct dw_node_written *written = NULL;
    if (!sink->is_whole && !sink->is_last) {
        if (!node->written)
            node->written = calloc(1, sizeof *written);
        written = node->written;
    }
    read_node(node, values);
    if (written ? !is_news(written, values->numbers) : is_of_parent(node, values->numbers))
        return;
    int error = read_histogram(node, written, &values->spread.histogram);
    if (error)
        fail(sink, error);
    write_row(&sink->writer, node->path, values);
}

static void write_values(struct dw_sink *sink, struct dw_track *track)
{
    struct node_values values = {0};
    dw_log_rows_begin(&sink->writer, track->id);
    pthread_mutex_lock(&track->lock);
    for (uint32_t i = 0; i < track->node_count; i++)
        if (track->nodes[i]->path < sink->paths)
            write_node(sink, track->nodes[i], &values);
    pthread_mutex_unlock(&track->lock);
    dw_log_rows_end(&sink->writer);
    dw_histogram_release(&values.spread.histogram);
    if (!sink->is_whole)
        track->final_written = track->final_writing;
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
static struct dw_track **copy_tracks(const struct dw_ledger *ledger, const struct dw_sink *sink,
                                     uint32_t *count)
{
    *count = 0;
    pthread_mutex_lock(&dw_recorder.lock);
    bool is_current = ledger == dw_recorder.ledger;
    uint32_t most = is_current ? dw_recorder.track_count : 0;
    struct dw_track **tracks = malloc((most + 1) * sizeof *tracks);
    for (uint32_t i = 0; tracks && i < most; i++)
        if (sink->is_whole || !dw_recorder.tracks[i]->final_written)
            tracks[(*count)++] = dw_recorder.tracks[i];
    for (uint32_t i = 0; i < *count; i++)
        tracks[i]->final_writing = atomic_load_explicit(&tracks[i]->ended, memory_order_acquire);
    if (tracks && sink->is_whole && is_current && dw_recorder.folded)
        tracks[(*count)++] = dw_recorder.folded;
    pthread_mutex_unlock(&dw_recorder.lock);
    return tracks;
}

/* Taken in two turns: the tracks and their events first, then the definitions,
 * so that threads which appear meanwhile wait for the next run. */
int dw_regions_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    uint32_t count;
    struct dw_event_batch batch = {0};
    struct dw_track **tracks = copy_tracks(ledger, sink, &count);
    (void)context;
    if (!tracks)
        return DW_ERR_MEMORY;
    bool with_events = !sink->is_whole && !dw_timeline_take(tracks, count, &batch);
    if (!with_events && sink->is_last)
        fail(sink, DW_ERR_MEMORY);
    dw_ledger_define(ledger, sink);
    if (with_events)
        write_events(&sink->writer, &batch);
    for (uint32_t i = 0; i < count; i++)
        write_values(sink, tracks[i]);
    if (!sink->is_whole)
        dw_timeline_recycle(&batch);
    free(tracks);
    return 0;
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

void dw_node_restart(struct dw_node *node, uint64_t now)
{
    dw_shared_u64 *numbers[] = {&node->count,       &node->total,       &node->suspended,
                                &node->children,    &node->cpu,         &node->max,
                                &node->squares_low, &node->squares_high};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_shared_set(numbers[i], 0);
    dw_shared_set(&node->min, UINT64_MAX);
    dw_shared_set(&node->open_since, dw_shared_get(&node->open) * now);
    for (uint32_t b = 0; b < DW_NODE_BLOCKS; b++)
        if (node->blocks[b])
            memset(node->blocks[b], 0, DW_NODE_BLOCK * sizeof(uint32_t));
    node->written = NULL;
}
