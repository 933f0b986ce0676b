/* SPDX-License-Identifier: MIT
 * The tracks of all threads: made at the first entry, folded together after the end. */
#include "base/error.h"
#include "base/grow.h"
#include "record/state.h"
#include "record/timeline.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENDED_KEPT 64 /* ended threads that a snapshot still tells apart */

void (*dw_track_created)(struct dw_track *track);

static pthread_key_t track_key;
static pthread_once_t track_key_once = PTHREAD_ONCE_INIT;

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

/* Whether its threads and paths are in the ledger. Under the recorder's lock: another recording may
 * begin meanwhile, and the ledger be given back. */
static bool is_of_recording(const struct dw_track *track)
{
    return track->recording == dw_recorder.recording && !dw_recorder.is_fork;
}

static bool has_open_entries(const struct dw_track *track)
{
    for (uint32_t i = 0; i < track->node_count; i++)
        if (dw_shared_get(&track->nodes[i]->open))
            return true;
    return false;
}

static void free_track(struct dw_track *track)
{
    for (uint32_t i = 0; i < track->node_count; i++)
        dw_node_free(track->nodes[i]);
    dw_timeline_release(track);
    dw_map_release(&track->index);
    pthread_mutex_destroy(&track->lock);
    free(track->nodes);
    free(track);
}

/* Generators that sleep may still hold entries of it; then it stays. */
static void forget_track(struct dw_track *track)
{
    if (track->ended && !has_open_entries(track))
        free_track(track);
}

/* Runs in a thread that ends. The flusher, or a later snapshot, still reads the track. */
static void end_track(void *value)
{
    struct dw_track *track = value;
    struct dw_node *root = track->root;
    uint64_t now = dw_tick();
    while (track->top) /* left open by hand */
        dw_span_close(track, track->top, now, true);
    uint64_t start = dw_shared_get(&root->open_since);
    dw_node_write_begin(root);
    dw_shared_set(&root->open, 0);
    dw_shared_set(&root->open_since, 0);
    dw_node_count(root, now - start);
    dw_node_write_end(root);
    if (track->events)
        atomic_store(&track->event_limit, 0);
    dw_track_here = NULL;
    dw_track_leave_spans(track);
    pthread_mutex_lock(&dw_recorder.lock);
    if (is_of_recording(track))
        dw_ledger_end_thread(dw_recorder.ledger, track->thread);
    atomic_store_explicit(&track->ended, true, memory_order_release);
    if (track->recording != dw_recorder.recording)
        forget_track(track);
    pthread_mutex_unlock(&dw_recorder.lock);
}

static void make_track_key(void)
{
    pthread_key_create(&track_key, end_track);
}

static struct dw_track *new_track(void)
{
    struct dw_track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    pthread_mutex_init(&track->lock, NULL);
    pthread_mutex_lock(&dw_recorder.lock);
    track->recording = dw_recorder.recording;
    track->generation = dw_recorder_generation;
    track->cpu = dw_recorder.options.cpu;
    track->timeline = dw_recorder.options.timeline && dw_ledger_has_file(dw_recorder.ledger);
    pthread_mutex_unlock(&dw_recorder.lock);
    track->root = dw_track_add_root(track);
    if (!track->root) {
        free_track(track);
        return NULL;
    }
    return track;
}

static void open_root(struct dw_track *track, uint64_t now)
{
    dw_node_write_begin(track->root);
    dw_shared_set(&track->root->open, 1);
    dw_shared_set(&track->root->open_since, now);
    dw_node_write_end(track->root);
}

/* Makes the track's thread known to the ledger. */
static int enter_thread(struct dw_track *track, uint64_t tid, const char *name)
{
    track->tid = tid;
    struct dw_ledger *ledger = dw_recorder.ledger;
    int error = dw_ledger_thread(ledger, dw_region_probe.bit, tid, &track->thread);
    if (!error)
        track->id = dw_ledger_thread_id(ledger, track->thread);
    return error ? error : dw_ledger_name_thread(ledger, track->thread, name, strlen(name));
}

static struct dw_track *new_folded_track(void)
{
    struct dw_track *track = new_track();
    if (track && enter_thread(track, 0, "(ended threads)")) {
        free_track(track);
        return NULL;
    }
    return track;
}

static void fold_track(struct dw_track *track)
{
    if (!dw_recorder.folded)
        dw_recorder.folded = new_folded_track();
    if (!dw_recorder.folded)
        return;
    for (uint32_t i = 0; i < track->node_count; i++) {
        struct dw_node *into = dw_track_adopt(dw_recorder.folded, track->nodes[i]);
        if (into)
            dw_node_fold(into, track->nodes[i]);
    }
}

/* The oldest ended thread that nothing needs any more, as an index, or track_count. */
static uint32_t find_foldable(uint32_t *ended)
{
    uint32_t oldest = dw_recorder.track_count;
    *ended = 0;
    for (uint32_t i = 1; i < dw_recorder.track_count; i++) {
        struct dw_track *track = dw_recorder.tracks[i];
        if (!track->ended || (dw_ledger_has_file(dw_recorder.ledger) && !track->final_written) ||
            has_open_entries(track))
            continue;
        if (oldest == dw_recorder.track_count)
            oldest = i;
        ++*ended;
    }
    return oldest;
}

/* Under the ledger's `file`, which keeps the recording from being replaced. */
static void fold_oldest(struct dw_ledger *ledger)
{
    struct dw_track *track = NULL;
    pthread_mutex_lock(&dw_recorder.lock);
    uint32_t ended = 0, index = 0;
    if (ledger == dw_recorder.ledger && dw_recorder.track_count > ENDED_KEPT)
        index = find_foldable(&ended);
    if (ended > ENDED_KEPT) {
        track = dw_recorder.tracks[index];
        memmove(&dw_recorder.tracks[index], &dw_recorder.tracks[index + 1],
                (dw_recorder.track_count - index - 1) * sizeof(struct dw_track *));
        dw_recorder.track_count--;
    }
    pthread_mutex_unlock(&dw_recorder.lock);
    if (track) {
        fold_track(track);
        dw_ledger_leave_thread(ledger, dw_region_probe.bit, track->thread);
        free_track(track);
    }
}

/* Keeps a program that starts threads for ever from growing for ever. */
static void fold_ended_tracks(void)
{
    struct dw_ledger *ledger = dw_recorder_hold();
    if (!pthread_mutex_trylock(&ledger->file)) {
        fold_oldest(ledger);
        pthread_mutex_unlock(&ledger->file);
    }
    dw_ledger_release(ledger);
}

bool dw_tracks_register(struct dw_track *track)
{
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_mutex_lock(&dw_recorder.lock);
    int error = track->recording == dw_recorder.recording ? 0 : DW_ERR_ENDED;
    if (!error)
        error = DW_GROW(dw_recorder.tracks, dw_recorder.track_count, dw_recorder.track_capacity);
    if (!error)
        error = enter_thread(track, thread_id(), name);
    if (!error)
        dw_recorder.tracks[dw_recorder.track_count++] = track;
    pthread_mutex_unlock(&dw_recorder.lock);
    return !error;
}

static void restart_track(struct dw_track *track, uint64_t now)
{
    pthread_mutex_init(&track->lock, NULL);
    dw_track_find_paths(track);
    for (uint32_t i = 0; i < track->node_count; i++)
        dw_node_restart(track->nodes[i], now);
    track->epoch = now;
    track->final_written = false;
    track->timeline = dw_recorder.options.timeline && dw_ledger_has_file(dw_recorder.ledger);
    dw_timeline_restart(track);
}

void dw_tracks_go_on(void)
{
    dw_recorder.is_fork = false;
    if (dw_ledger_has_file(dw_recorder.ledger))
        dw_flusher_start(DW_FLUSHES_REGIONS);
}

/* Tracks of living threads are forgotten by these, when they enter a region next or end. */
void dw_tracks_forget(void)
{
    for (uint32_t i = 0; i < dw_recorder.track_count; i++)
        forget_track(dw_recorder.tracks[i]);
    dw_recorder.track_count = 0;
    if (dw_recorder.folded)
        free_track(dw_recorder.folded);
    dw_recorder.folded = NULL;
}

struct dw_track *dw_track_get_slow(void)
{
    struct dw_track *track = dw_track_here;
    if (!atomic_load(&dw_recorder_active))
        return NULL;
    if (dw_recorder.is_fork)
        dw_tracks_go_on();
    dw_flusher_unpause();
    if (track && track->recording == dw_recorder.recording) {
        bool has_begun_again = track->has_forked && dw_tracks_register(track);
        track->has_forked = false;
        if (has_begun_again)
            restart_track(track, dw_tick());
        if (has_begun_again && dw_track_created)
            dw_track_created(track);
        track->generation = dw_recorder_generation;
        return track;
    }
    pthread_once(&track_key_once, make_track_key);
    if (track) { /* of an earlier recording */
        pthread_setspecific(track_key, NULL);
        end_track(track);
    }
    track = new_track();
    if (track && !dw_tracks_register(track)) {
        free_track(track);
        track = NULL;
    }
    if (!track) {
        dw_recorder_drop(1);
        return NULL;
    }
    open_root(track, dw_tick());
    pthread_setspecific(track_key, track);
    dw_track_here = track;
    if (dw_track_created)
        dw_track_created(track);
    fold_ended_tracks();
    return track;
}

void dw_track_set_name(struct dw_track *track, const char *name, size_t size)
{
    pthread_mutex_lock(&dw_recorder.lock);
    if (is_of_recording(track))
        dw_ledger_name_thread(dw_recorder.ledger, track->thread, name, size);
    pthread_mutex_unlock(&dw_recorder.lock);
}

/* Spans and nodes of a track last as long as it, and the lock keeps it. Its thread may open and
 * close some meanwhile: then it did not sleep, and nobody asks. */
dw_frame_id dw_region_of_thread(uint64_t tid)
{
    dw_frame_id region = 0;
    pthread_mutex_lock(&dw_recorder.lock);
    for (uint32_t i = dw_recorder.track_count; i-- > 0;) { /* numbers of threads come again */
        const struct dw_track *track = dw_recorder.tracks[i];
        if (track->tid != tid || track->generation != dw_recorder_generation)
            continue;
        const struct dw_span *top = *(struct dw_span *const volatile *)&track->top;
        region = top && top->node ? top->node->frame : 0;
        break;
    }
    pthread_mutex_unlock(&dw_recorder.lock);
    return region;
}
