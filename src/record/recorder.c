/* SPDX-License-Identifier: MIT
 * The recorder as its callers see it: interning, start and stop, counters. */
#include "record/recorder.h"

#include "base/error.h"
#include "base/grow.h"
#include "record/state.h"
#include "record/timeline.h"

#include <string.h>

#define PATHS_MAX (1u << 20)
#define OVERFLOW_NAME "(more paths)"

_Atomic bool dw_recorder_active;
_Atomic uint32_t dw_recorder_generation = 1;
struct dw_recorder dw_recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct dw_ledger *dw_recorder_hold(void)
{
    pthread_mutex_lock(&dw_recorder.lock);
    struct dw_ledger *ledger = dw_recorder.ledger;
    if (ledger)
        dw_ledger_hold(ledger);
    pthread_mutex_unlock(&dw_recorder.lock);
    return ledger;
}

void dw_recorder_drop(uint64_t events)
{
    pthread_mutex_lock(&dw_recorder.lock);
    atomic_fetch_add(&dw_recorder.ledger->dropped, events);
    pthread_mutex_unlock(&dw_recorder.lock);
}

void dw_recorder_say_reported(void)
{
    if (dw_recorder.ledger)
        atomic_store(&dw_recorder.ledger->is_reported, true);
}

/* Both tables or none, so that what failed once is tried again. */
static int init_names(void)
{
    if (dw_recorder.frames.count)
        return 0;
    int error = dw_frame_table_init(&dw_recorder.frames, &dw_recorder.strings);
    if (error) {
        dw_frame_table_release(&dw_recorder.frames);
        dw_string_table_release(&dw_recorder.strings);
    }
    return error;
}

static int intern_frame(struct dw_frame *frame, const void *name, size_t name_size,
                        const void *file, size_t file_size, dw_frame_id *id)
{
    int error = init_names();
    if (!error)
        error = dw_string_intern(&dw_recorder.strings, name, name_size, &frame->name);
    if (!error)
        error = dw_string_intern(&dw_recorder.strings, file, file_size, &frame->file);
    if (!error)
        error = dw_frame_intern(&dw_recorder.frames, frame, id);
    return error;
}

int dw_recorder_frame(enum dw_frame_kind kind, const void *name, size_t name_size, const void *file,
                      size_t file_size, uint32_t line, dw_frame_id *frame)
{
    struct dw_frame made = {.kind = kind, .line = line};
    pthread_mutex_lock(&dw_recorder.lock);
    int error = intern_frame(&made, name, name_size, file, file_size, frame);
    pthread_mutex_unlock(&dw_recorder.lock);
    return error;
}

dw_labels_id dw_region_label(dw_labels_id labels, dw_frame_id region)
{
    struct dw_label_text label = {.key = {"region", sizeof "region" - 1}};
    dw_labels_id id = labels;
    pthread_mutex_lock(&dw_recorder.lock);
    if (region && region < dw_recorder.frames.count) {
        label.value = dw_recorder.strings.strings[dw_recorder.frames.frames[region].name];
        if (dw_labels_extend(labels, &label, 1, &id))
            id = labels;
    }
    pthread_mutex_unlock(&dw_recorder.lock);
    return id;
}

/* The place of a frame in the ledger. */
static int find_place(dw_frame_id id, dw_place_id *place)
{
    while (dw_recorder.place_capacity <= id) {
        uint32_t before = dw_recorder.place_capacity;
        int error = dw_grow((void **)&dw_recorder.place_of, &dw_recorder.place_capacity,
                            sizeof *dw_recorder.place_of);
        if (error)
            return error;
        memset(dw_recorder.place_of + before, 0,
               (dw_recorder.place_capacity - before) * sizeof *dw_recorder.place_of);
    }
    const struct dw_frame *frame = &dw_recorder.frames.frames[id];
    const struct dw_string *strings = dw_recorder.strings.strings;
    int error =
        dw_recorder.place_of[id]
            ? 0
            : dw_ledger_named_place(dw_recorder.ledger, frame->kind, strings[frame->name],
                                    strings[frame->file], frame->line, &dw_recorder.place_of[id]);
    *place = dw_recorder.place_of[id];
    return error;
}

/* Ids grow: a larger one than any before is that of a new path. */
static void count_path(dw_path_id path)
{
    if (path <= dw_recorder.last_path)
        return;
    dw_recorder.last_path = path;
    dw_recorder.path_count++;
}

int dw_recorder_path(uint32_t recording, dw_path_id parent, dw_frame_id *frame, dw_path_id *path)
{
    dw_place_id place;
    pthread_mutex_lock(&dw_recorder.lock);
    int error = recording == dw_recorder.recording ? 0 : DW_ERR_ENDED;
    if (!error && dw_recorder.path_count >= PATHS_MAX) {
        struct dw_frame overflow = {.kind = DW_FRAME_REGION};
        error = intern_frame(&overflow, OVERFLOW_NAME, strlen(OVERFLOW_NAME), "", 0, frame);
        parent = DW_PATH_ROOT;
    }
    if (!error)
        error = find_place(*frame, &place);
    if (!error)
        error = dw_ledger_path(dw_recorder.ledger, parent, place, path);
    if (!error)
        count_path(*path);
    pthread_mutex_unlock(&dw_recorder.lock);
    return error;
}

/* Paths and places are those of one ledger, and of one process. */
static void forget_places(void)
{
    if (dw_recorder.place_of)
        memset(dw_recorder.place_of, 0, dw_recorder.place_capacity * sizeof *dw_recorder.place_of);
    dw_recorder.last_path = DW_PATH_ROOT;
    dw_recorder.path_count = 0;
}

static bool has_something_to_say(void)
{
    pthread_mutex_lock(&dw_recorder.lock);
    bool is_marked = dw_recorder.path_count != 0;
    pthread_mutex_unlock(&dw_recorder.lock);
    return is_marked || !dw_recorder.options.beside;
}

static bool may_flush(struct dw_ledger *ledger)
{
    return ledger && dw_ledger_has_file(ledger) && !dw_recorder.is_fork && has_something_to_say();
}

/* Without a file there is no timeline. */
static void see_error(int error)
{
    if (error)
        dw_recorder_widen(&(struct dw_record_options){0});
}

void dw_recorder_flush(void)
{
    struct dw_ledger *ledger = dw_recorder_hold();
    if (may_flush(ledger))
        see_error(dw_ledger_flush(ledger, dw_regions_collect, NULL, false));
    dw_ledger_release(ledger);
}

void dw_recorder_flush_last(void)
{
    if (!atomic_load(&dw_recorder_active))
        return;
    struct dw_ledger *ledger = dw_recorder_hold();
    if (may_flush(ledger))
        see_error(dw_ledger_flush_end(ledger, dw_regions_collect, NULL));
    dw_ledger_release(ledger);
}

static void lock_for_fork(void)
{
    pthread_mutex_lock(&dw_recorder.lock);
    dw_timeline_lock();
}

static void unlock_after_fork(void)
{
    dw_timeline_unlock();
    pthread_mutex_unlock(&dw_recorder.lock);
}

/* The next entry of any thread comes by and starts the flusher. */
static void after_fork(void)
{
    dw_recorder_generation++;
}

static void forked(void)
{
    dw_flusher_forked();
    dw_track_after_fork();
    forget_places();
    dw_recorder.track_count = 0; /* the others are the parent's threads */
    dw_recorder.folded = NULL;
    dw_recorder.is_fork = true;
    if (dw_track_here) /* a thread that begins later may be the first to come by */
        dw_track_here->has_forked = true;
    dw_recorder_generation++;
}

static void stop_for_good(void)
{
    dw_recorder_stop();
}

/* A process with one thread stays one while it forks: Python warns about others, and the flusher
 * does not belong to the program. */
struct dw_probe dw_region_probe = {
    .name = "regions",
    .flush = dw_recorder_flush_last,
    .stop = stop_for_good,
    .before = dw_flusher_pause,
    .lock = lock_for_fork,
    .unlock = unlock_after_fork,
    .after = after_fork,
    .forked = forked,
};

/* Begins another recording. What threads still know of the last one is not used any more; one that
 * has no GIL to wait for may be writing to it. */
static int change_ledger(const struct dw_record_options *options)
{
    struct dw_ledger *ledger, *before = dw_recorder.ledger;
    int error = dw_ledger_open(&(struct dw_ledger_options){.path = options->log_file}, &ledger);
    if (error)
        return error;
    if (before)
        pthread_mutex_lock(&before->file);
    pthread_mutex_lock(&dw_recorder.lock);
    dw_tracks_forget();
    dw_recorder.ledger = ledger;
    dw_recorder.recording++;
    dw_recorder.options = *options;
    dw_recorder.is_fork = false;
    forget_places();
    pthread_mutex_unlock(&dw_recorder.lock);
    if (before)
        pthread_mutex_unlock(&before->file);
    dw_ledger_release(before);
    return 0;
}

int dw_recorder_start(const struct dw_record_options *wanted)
{
    if (atomic_load(&dw_recorder_active))
        return DW_ERR_ARGUMENT;
    dw_probe_add(&dw_region_probe);
    int error = change_ledger(wanted);
    if (error)
        return error;
    dw_recorder_generation++;
    atomic_store(&dw_recorder_active, true);
    dw_track_get_slow();
    if (wanted->log_file && wanted->beside)
        dw_flusher_start_later(DW_FLUSHES_REGIONS);
    else if (wanted->log_file)
        dw_flusher_start(DW_FLUSHES_REGIONS);
    return 0;
}

void dw_recorder_widen(const struct dw_record_options *wanted)
{
    pthread_mutex_lock(&dw_recorder.lock);
    dw_recorder.options.cpu |= wanted->cpu;
    dw_recorder.options.timeline |= wanted->timeline;
    bool timeline = dw_recorder.options.timeline && dw_ledger_has_file(dw_recorder.ledger);
    for (uint32_t i = 0; i < dw_recorder.track_count; i++) {
        dw_recorder.tracks[i]->cpu = dw_recorder.options.cpu;
        dw_recorder.tracks[i]->timeline = timeline;
    }
    pthread_mutex_unlock(&dw_recorder.lock);
}

int dw_recorder_stop(void)
{
    int error = 0;
    struct dw_ledger *ledger = dw_recorder_hold();
    if (atomic_exchange(&dw_recorder_active, false)) {
        dw_recorder_generation++;
        dw_flusher_stop(DW_FLUSHES_REGIONS);
        if (may_flush(ledger))
            dw_ledger_flush(ledger, dw_regions_collect, NULL, true);
        error = dw_ledger_stop(ledger);
    }
    dw_ledger_release(ledger);
    return error;
}

const char *dw_recorder_log_file(void)
{
    return dw_recorder.ledger && dw_recorder.ledger->path ? dw_recorder.ledger->path : "";
}

/* The ledger, until it is released. Before the first recording there is an empty one. */
static int hold_any(struct dw_ledger **ledger)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    *ledger = dw_recorder_hold();
    int error = *ledger ? 0 : change_ledger(&(struct dw_record_options){0});
    if (!*ledger)
        *ledger = dw_recorder_hold();
    pthread_mutex_unlock(&lock);
    return error;
}

int dw_recorder_snapshot(struct dw_log_writer *writer)
{
    struct dw_ledger *ledger;
    if (dw_recorder.is_fork)
        dw_track_get_slow();
    *writer = (struct dw_log_writer){.fd = -1};
    int error = hold_any(&ledger);
    if (!error)
        error = dw_ledger_snapshot(ledger, dw_regions_collect, NULL, writer);
    dw_ledger_release(ledger);
    return error;
}

__attribute__((destructor)) static void stop_at_exit(void)
{
    dw_recorder_stop();
}

void dw_recorder_count(dw_frame_id counter, int64_t amount)
{
    struct dw_track *track = dw_track_get();
    struct dw_node *node = track ? dw_track_child(track, track->root, counter) : NULL;
    if (!node)
        return;
    dw_node_write_begin(node);
    dw_shared_add(&node->count, 1);
    dw_shared_add(&node->total, (uint64_t)amount);
    dw_node_write_end(node);
    if (track->timeline)
        dw_track_event(track, dw_tick(), DW_EVENT_COUNTER, node->path,
                       (int64_t)dw_shared_get(&node->total));
}

void dw_recorder_instant(dw_frame_id instant)
{
    struct dw_track *track = dw_track_get();
    struct dw_node *node = track ? dw_track_child(track, dw_track_node(track), instant) : NULL;
    if (!node)
        return;
    dw_node_write_begin(node);
    dw_shared_add(&node->count, 1);
    dw_node_write_end(node);
    if (track->timeline)
        dw_track_event(track, dw_tick(), DW_EVENT_INSTANT, node->path, 0);
}
