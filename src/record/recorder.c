/* SPDX-License-Identifier: MIT
 * The recorder as its callers see it: interning, start and stop, counters. */
#define _GNU_SOURCE
#include "record/recorder.h"

#include "base/error.h"
#include "base/grow.h"
#include "record/state.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PATHS_MAX (1u << 20)
#define OVERFLOW_NAME "(more paths)"

_Atomic bool dw_recorder_active;
uint32_t dw_recorder_generation = 1;
struct dw_recorder dw_recorder = {.tables.lock = PTHREAD_MUTEX_INITIALIZER};

void dw_recorder_drop(uint64_t events)
{
    atomic_fetch_add(&dw_recorder.dropped, events);
}

void dw_recorder_say_reported(void)
{
    atomic_store(&dw_recorder.is_reported, true);
}

/* All of them or none, so that what failed once is tried again. */
static int init_tables(void)
{
    struct dw_tables *tables = &dw_recorder.tables;
    if (tables->paths.count)
        return 0;
    int error = dw_frame_table_init(&tables->frames, &tables->strings);
    if (!error)
        error = dw_path_tree_init(&tables->paths);
    if (error) {
        dw_frame_table_release(&tables->frames);
        dw_string_table_release(&tables->strings);
    }
    return error;
}

static int intern_frame(struct dw_frame *frame, const void *name, size_t name_size,
                        const void *file, size_t file_size, dw_frame_id *id)
{
    int error = init_tables();
    if (!error)
        error = dw_string_intern(&dw_recorder.tables.strings, name, name_size, &frame->name);
    if (!error)
        error = dw_string_intern(&dw_recorder.tables.strings, file, file_size, &frame->file);
    if (!error)
        error = dw_frame_intern(&dw_recorder.tables.frames, frame, id);
    return error;
}

int dw_recorder_frame(enum dw_frame_kind kind, const void *name, size_t name_size, const void *file,
                      size_t file_size, uint32_t line, dw_frame_id *frame)
{
    struct dw_frame made = {.kind = kind, .line = line};
    pthread_mutex_lock(&dw_recorder.tables.lock);
    int error = intern_frame(&made, name, name_size, file, file_size, frame);
    pthread_mutex_unlock(&dw_recorder.tables.lock);
    return error;
}

int dw_recorder_path(dw_path_id parent, dw_frame_id *frame, dw_path_id *path)
{
    pthread_mutex_lock(&dw_recorder.tables.lock);
    int error = 0;
    if (dw_recorder.tables.paths.count >= PATHS_MAX) {
        struct dw_frame overflow = {.kind = DW_FRAME_REGION};
        error = intern_frame(&overflow, OVERFLOW_NAME, strlen(OVERFLOW_NAME), "", 0, frame);
        parent = DW_PATH_ROOT;
    }
    if (!error)
        error = dw_path_intern(&dw_recorder.tables.paths, parent, *frame, path);
    pthread_mutex_unlock(&dw_recorder.tables.lock);
    return error;
}

/* The property of that key, made when absent; NULL when out of memory. */
static struct dw_property *property_of(struct dw_process *process, dw_string_id key)
{
    for (uint32_t i = 0; i < process->property_count; i++)
        if (process->properties[i].key == key)
            return &process->properties[i];
    if (DW_GROW(process->properties, process->property_count, process->property_capacity))
        return NULL;
    process->properties[process->property_count] = (struct dw_property){.key = key};
    return &process->properties[process->property_count++];
}

void dw_recorder_describe(const char *key, const void *value, size_t size)
{
    struct dw_property made;
    if (dw_redacts_property(key, strlen(key)))
        return;
    pthread_mutex_lock(&dw_recorder.tables.lock);
    int error = init_tables();
    if (!error)
        error = dw_string_intern(&dw_recorder.tables.strings, key, strlen(key), &made.key);
    if (!error)
        error = dw_string_intern(&dw_recorder.tables.strings, value, size, &made.value);
    struct dw_property *property =
        error ? NULL : property_of(&dw_recorder.tables.process, made.key);
    if (property)
        *property = made;
    pthread_mutex_unlock(&dw_recorder.tables.lock);
}

void dw_recorder_describe_text(const char *key, const char *value)
{
    dw_recorder_describe(key, value, strlen(value));
}

void dw_recorder_new_uuid(struct dw_process *process)
{
    if (getrandom(process->uuid, sizeof process->uuid, 0) < 0)
        memcpy(process->uuid, &process->first_clock, sizeof process->uuid);
}

void dw_recorder_describe_process(void)
{
    char text[PATH_MAX];
    struct dw_process *process = &dw_recorder.tables.process;
    process->pid = (uint64_t)getpid();
    dw_recorder_describe_text("dwell", DW_VERSION);
    if (!gethostname(text, sizeof text - 1))
        dw_recorder_describe_text("host", text);
    if (getcwd(text, sizeof text))
        dw_recorder_describe_text("cwd", text);
    snprintf(text, sizeof text, "%d", (int)getppid());
    dw_recorder_describe_text("ppid", text);
    dw_recorder_describe_text("clock", dw_tick_is_tsc ? "tsc" : "monotonic");
}

int dw_recorder_introduce(struct dw_process *process, struct dw_string_table *strings)
{
    struct dw_tables *tables = &dw_recorder.tables;
    dw_recorder_describe_process();
    *process = (struct dw_process){.pid = tables->process.pid};
    process->first_clock = process->last_clock = dw_clock_pair_now();
    dw_recorder_new_uuid(process);
    pthread_mutex_lock(&tables->lock);
    int error = 0;
    for (uint32_t i = 0; i < tables->process.property_count && !error; i++) {
        struct dw_string key = tables->strings.strings[tables->process.properties[i].key];
        struct dw_string value = tables->strings.strings[tables->process.properties[i].value];
        struct dw_property property;
        if (dw_redacts_property(key.bytes, key.size))
            continue;
        error = dw_string_intern(strings, key.bytes, key.size, &property.key);
        if (!error)
            error = dw_string_intern(strings, value.bytes, value.size, &property.value);
        if (!error)
            error =
                DW_GROW(process->properties, process->property_count, process->property_capacity);
        if (!error)
            process->properties[process->property_count++] = property;
    }
    pthread_mutex_unlock(&tables->lock);
    return error;
}

void dw_recorder_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, dw_fork_init);
}

int dw_recorder_start(const struct dw_record_options *wanted)
{
    if (atomic_load(&dw_recorder_active))
        return DW_ERR_ARGUMENT;
    dw_recorder_watch_forks();
    dw_recorder.options = *wanted;
    dw_recorder.is_fork = false;
    atomic_store(&dw_recorder.dropped, 0);
    atomic_store(&dw_recorder.is_reported, false);
    dw_tracks_forget();
    dw_recorder.tables.process.first_clock = dw_clock_pair_now();
    dw_recorder_new_uuid(&dw_recorder.tables.process);
    dw_recorder_describe_process();
    int error = dw_flusher_open(wanted->log_file);
    if (error)
        return error;
    dw_recorder.recording++;
    dw_recorder_generation++;
    atomic_store(&dw_recorder_active, true);
    dw_track_get_slow();
    if (dw_flusher_has_log() && wanted->beside)
        dw_flusher_start_later();
    else if (dw_flusher_has_log())
        dw_flusher_start();
    return 0;
}

void dw_recorder_widen(const struct dw_record_options *wanted)
{
    pthread_mutex_lock(&dw_recorder.tables.lock);
    dw_recorder.options.cpu |= wanted->cpu;
    dw_recorder.options.timeline |= wanted->timeline;
    for (uint32_t i = 0; i < dw_recorder.tables.track_count; i++) {
        dw_recorder.tables.tracks[i]->cpu = dw_recorder.options.cpu;
        dw_recorder.tables.tracks[i]->timeline =
            dw_recorder.options.timeline && dw_flusher_has_log();
    }
    pthread_mutex_unlock(&dw_recorder.tables.lock);
}

int dw_recorder_stop(void)
{
    if (!atomic_exchange(&dw_recorder_active, false))
        return 0;
    dw_recorder_generation++;
    if (dw_recorder.is_fork)
        return 0;
    dw_flusher_stop();
    dw_recorder_flush_last();
    return dw_flusher_close();
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
