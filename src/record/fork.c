/* SPDX-License-Identifier: MIT
 * A forked child leaves the parent's recording alone and makes one of its own, but
 * only once it enters or leaves a region. */
#define _GNU_SOURCE
#include "record/labels.h"
#include "record/state.h"
#include "record/timeline.h"

#include <stdio.h>
#include <string.h>

/* A process with one thread stays one while it forks: Python warns about others,
 * and the flusher is none of the program's. */
static void before_fork(void)
{
    dw_flusher_pause();
    dw_flusher_lock();
    pthread_mutex_lock(&dw_recorder.tables.lock);
    dw_timeline_lock();
    dw_labels_before_fork();
}

static void unlock_after_fork(void)
{
    dw_labels_forked();
    dw_timeline_unlock();
    pthread_mutex_unlock(&dw_recorder.tables.lock);
    dw_flusher_unlock();
}

static void after_fork_in_parent(void)
{
    unlock_after_fork();
    dw_recorder_generation++; /* the next entry of any thread comes by and starts the flusher */
}

static struct dw_track *survivor; /* of the thread that forked: the only one in the child */

static void after_fork_in_child(void)
{
    unlock_after_fork();
    dw_flusher_disown();
    dw_track_after_fork();
    survivor = dw_track_here;
    dw_recorder.is_fork = true;
    dw_recorder_generation++;
}

void dw_fork_init(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void restart_node(struct dw_node *node, uint64_t now)
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

static void describe_child(const uint8_t parent[16])
{
    char text[33];
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", parent[i]);
    dw_recorder_describe_text("parent", text);
}

static void restart_track(struct dw_track *track, uint64_t now)
{
    pthread_mutex_init(&track->lock, NULL);
    for (uint32_t i = 0; i < track->node_count; i++)
        restart_node(track->nodes[i], now);
    track->epoch = now;
    track->tid = dw_tracks_thread_id();
    track->name_written = track->final_written = false;
    track->timeline = dw_recorder.options.timeline && dw_flusher_has_log();
    dw_timeline_restart(track);
}

void dw_fork_continue(void)
{
    uint8_t parent[16];
    dw_recorder.is_fork = false;
    memcpy(parent, dw_recorder.tables.process.uuid, sizeof parent);
    dw_recorder.tables.process.first_clock = dw_clock_pair_now();
    dw_recorder_new_uuid(&dw_recorder.tables.process);
    dw_recorder_describe_process();
    describe_child(parent);
    dw_recorder.tables.track_count = 0; /* the others are the parent's threads */
    dw_recorder.tables.folded = NULL;
    dw_recorder.next_track_id = 0;
    atomic_store(&dw_recorder.dropped, 0);
    atomic_store(&dw_recorder.is_reported, false);
    dw_flusher_open_child();
    if (survivor && survivor->recording == dw_recorder.recording && dw_tracks_register(survivor))
        restart_track(survivor, dw_tick());
    if (dw_flusher_has_log())
        dw_flusher_start();
}
