/* SPDX-License-Identifier: MIT
 * Locks, in the order they are taken: drain_lock (the log), tables.lock, a
 * track's lock, the timeline's queue. The flusher never needs the GIL. */
#define _GNU_SOURCE
#include "record/recorder.h"

#include "base/error.h"
#include "base/grow.h"
#include "record/drain.h"
#include "record/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLUSH_PERIOD_NS 500000000u /* twice a second, so that a kill costs less than one */
#define PATHS_MAX (1u << 20)
#define ENDED_KEPT 64 /* ended threads that a snapshot still tells apart */
#define OVERFLOW_NAME "(more paths)"

_Atomic bool dw_recorder_active;
uint32_t dw_recorder_generation = 1;
void (*dw_track_created)(struct dw_track *track);

static struct dw_tables tables = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_drain log_drain;
static int log_fd = -1;
static char log_file[PATH_MAX];
static struct dw_record_options options;
static uint32_t next_track_id;
static _Atomic uint64_t dropped;
static uint32_t recording; /* counts them; a generation lasts until the next fork or stop */
static bool is_fork;       /* a child that has not recorded anything of its own yet */

static pthread_t flusher;
static bool flusher_runs;
static bool flusher_paused; /* by a fork, until the next entry */
static bool flusher_stops;
static pthread_mutex_t flusher_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flusher_wakes;

static pthread_key_t track_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void dw_recorder_drop(uint64_t events)
{
    atomic_fetch_add(&dropped, events);
}

static int init_tables(void)
{
    if (tables.strings.count)
        return 0;
    dw_string_id root;
    int error = dw_string_table_init(&tables.strings);
    if (!error)
        error = dw_string_intern(&tables.strings, "<main>", 6, &root);
    if (!error)
        error = dw_frame_table_init(&tables.frames, root);
    if (!error)
        error = dw_path_tree_init(&tables.paths);
    return error;
}

static int intern_frame(struct dw_frame *frame, const void *name, size_t name_size,
                        const void *file, size_t file_size, dw_frame_id *id)
{
    int error = init_tables();
    if (!error)
        error = dw_string_intern(&tables.strings, name, name_size, &frame->name);
    if (!error)
        error = dw_string_intern(&tables.strings, file, file_size, &frame->file);
    if (!error)
        error = dw_frame_intern(&tables.frames, frame, id);
    return error;
}

int dw_recorder_frame(enum dw_frame_kind kind, const void *name, size_t name_size,
                      const void *file, size_t file_size, uint32_t line, dw_frame_id *frame)
{
    struct dw_frame made = {.kind = kind, .line = line};
    pthread_mutex_lock(&tables.lock);
    int error = intern_frame(&made, name, name_size, file, file_size, frame);
    pthread_mutex_unlock(&tables.lock);
    return error;
}

int dw_recorder_path(dw_path_id parent, dw_frame_id *frame, dw_path_id *path)
{
    pthread_mutex_lock(&tables.lock);
    int error = 0;
    if (tables.paths.count >= PATHS_MAX) {
        struct dw_frame overflow = {.kind = DW_FRAME_REGION};
        error = intern_frame(&overflow, OVERFLOW_NAME, strlen(OVERFLOW_NAME), "", 0, frame);
        parent = DW_PATH_ROOT;
    }
    if (!error)
        error = dw_path_intern(&tables.paths, parent, *frame, path);
    pthread_mutex_unlock(&tables.lock);
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
    pthread_mutex_lock(&tables.lock);
    int error = init_tables();
    if (!error)
        error = dw_string_intern(&tables.strings, key, strlen(key), &made.key);
    if (!error)
        error = dw_string_intern(&tables.strings, value, size, &made.value);
    struct dw_property *property = error ? NULL : property_of(&tables.process, made.key);
    if (property)
        *property = made;
    pthread_mutex_unlock(&tables.lock);
}

static void describe_text(const char *key, const char *value)
{
    dw_recorder_describe(key, value, strlen(value));
}

static void describe_process(void)
{
    char text[PATH_MAX];
    struct dw_process *process = &tables.process;
    if (getrandom(process->uuid, sizeof process->uuid, 0) < 0)
        memcpy(process->uuid, &process->first_clock, sizeof process->uuid);
    process->pid = (uint64_t)getpid();
    describe_text("dwell", DW_VERSION);
    if (!gethostname(text, sizeof text - 1))
        describe_text("host", text);
    if (getcwd(text, sizeof text))
        describe_text("cwd", text);
    snprintf(text, sizeof text, "%d", (int)getppid());
    describe_text("ppid", text);
    describe_text("clock", dw_tick_is_tsc ? "tsc" : "monotonic");
}

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

/* Runs in a thread that ends. The flusher, or a later snapshot, still reads the track. */
static void end_track(void *value)
{
    struct dw_track *track = value;
    struct dw_node *root = track->root;
    uint64_t now = dw_tick();
    uint64_t start = dw_shared_get(&root->open_since);
    dw_node_write_begin(root);
    dw_shared_set(&root->open, 0);
    dw_shared_set(&root->open_since, 0);
    dw_node_count(root, now - start);
    dw_node_write_end(root);
    if (track->events)
        atomic_store(&track->event_limit, 0);
    dw_track_here = NULL;
    atomic_store_explicit(&track->ended, true, memory_order_release);
}

static void make_track_key(void)
{
    pthread_key_create(&track_key, end_track);
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
    free(track->name);
    free(track);
}

/* Generators that sleep may still hold entries of it; then it stays. */
static void forget_track(struct dw_track *track)
{
    if (track->ended && !has_open_entries(track))
        free_track(track);
}

static struct dw_track *new_track(const char *name)
{
    struct dw_track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    pthread_mutex_init(&track->lock, NULL);
    track->tid = thread_id();
    track->recording = recording;
    track->generation = dw_recorder_generation;
    track->cpu = options.cpu;
    track->timeline = options.timeline && log_fd >= 0;
    track->name = strdup(name);
    track->root = dw_track_add_root(track);
    if (!track->name || !track->root) {
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

static void fold_track(struct dw_track *track)
{
    if (!tables.folded)
        tables.folded = new_track("(ended threads)");
    if (!tables.folded)
        return;
    tables.folded->id = UINT32_MAX >> 8;
    for (uint32_t i = 0; i < track->node_count; i++) {
        struct dw_node *into = dw_track_adopt(tables.folded, track->nodes[i]);
        if (into)
            dw_node_fold(into, track->nodes[i]);
    }
}

/* The oldest ended thread that nothing needs any more, as an index, or track_count. */
static uint32_t find_foldable(uint32_t *ended)
{
    uint32_t oldest = tables.track_count;
    *ended = 0;
    for (uint32_t i = 1; i < tables.track_count; i++) {
        struct dw_track *track = tables.tracks[i];
        if (!track->ended || (log_fd >= 0 && !track->final_written) || has_open_entries(track))
            continue;
        if (oldest == tables.track_count)
            oldest = i;
        ++*ended;
    }
    return oldest;
}

/* Keeps a program that starts threads for ever from growing for ever. */
static void fold_ended_tracks(void)
{
    if (pthread_mutex_trylock(&drain_lock))
        return;
    struct dw_track *track = NULL;
    pthread_mutex_lock(&tables.lock);
    uint32_t ended, index = tables.track_count > ENDED_KEPT ? find_foldable(&ended) : 0;
    if (tables.track_count > ENDED_KEPT && ended > ENDED_KEPT) {
        track = tables.tracks[index];
        memmove(&tables.tracks[index], &tables.tracks[index + 1],
                (tables.track_count - index - 1) * sizeof(struct dw_track *));
        tables.track_count--;
    }
    pthread_mutex_unlock(&tables.lock);
    if (track) {
        fold_track(track);
        free_track(track);
    }
    pthread_mutex_unlock(&drain_lock);
}

static bool register_track(struct dw_track *track)
{
    pthread_mutex_lock(&tables.lock);
    int error = DW_GROW(tables.tracks, tables.track_count, tables.track_capacity);
    if (!error) {
        track->id = next_track_id++;
        tables.tracks[tables.track_count++] = track;
    }
    pthread_mutex_unlock(&tables.lock);
    return !error;
}

static void continue_after_fork(struct dw_track *track);
static void start_flusher(void);

static void unpause_flusher(void)
{
    pthread_mutex_lock(&tables.lock);
    if (flusher_paused)
        start_flusher();
    flusher_paused = false;
    pthread_mutex_unlock(&tables.lock);
}

struct dw_track *dw_track_get_slow(void)
{
    struct dw_track *track = dw_track_here;
    if (!atomic_load(&dw_recorder_active))
        return NULL;
    if (is_fork)
        continue_after_fork(track);
    unpause_flusher();
    if (track && track->recording == recording) {
        track->generation = dw_recorder_generation;
        return track;
    }
    pthread_once(&once, make_track_key);
    if (track) { /* of an earlier recording */
        end_track(track);
        forget_track(track);
    }
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    track = new_track(name);
    if (!track || !register_track(track))
        return NULL;
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
    char *copy = strndup(name, size);
    if (!copy)
        return;
    pthread_mutex_lock(&track->lock);
    free(track->name);
    track->name = copy;
    track->name_written = false;
    pthread_mutex_unlock(&track->lock);
}

/* Tells the trouble once and goes on without the file. */
static void give_up_log(void)
{
    errno = log_drain.writer.saved_errno;
    dprintf(STDERR_FILENO, "dwell: %s: %s; recording goes on without the file\n", log_file,
            dw_error_text(log_drain.writer.error));
    dw_drain_release(&log_drain);
    close(log_fd);
    log_fd = -1;
    dw_recorder_widen(&(struct dw_record_options){0}); /* no file, no timeline */
}

static void flush(bool with_end)
{
    pthread_mutex_lock(&drain_lock);
    if (log_fd >= 0 && !is_fork) {
        dw_drain_run(&log_drain, &tables);
        if (with_end)
            dw_log_write_end(&log_drain.writer, 0, atomic_load(&dropped));
        if (log_drain.writer.error)
            give_up_log();
    }
    pthread_mutex_unlock(&drain_lock);
}

void dw_recorder_flush(void)
{
    flush(false);
}

void dw_recorder_flush_last(void)
{
    flush(true);
}

void dw_recorder_kick(void)
{
    pthread_cond_signal(&flusher_wakes);
}

static void *flush_forever(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&flusher_lock);
    while (!flusher_stops) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t then = dw_timespec_ns(&until) + FLUSH_PERIOD_NS;
        until = (struct timespec){(time_t)(then / 1000000000u), (long)(then % 1000000000u)};
        pthread_cond_timedwait(&flusher_wakes, &flusher_lock, &until);
        if (flusher_stops)
            break;
        pthread_mutex_unlock(&flusher_lock);
        dw_recorder_flush();
        pthread_mutex_lock(&flusher_lock);
    }
    pthread_mutex_unlock(&flusher_lock);
    return NULL;
}

/* The flusher takes no signals: they are the program's. */
static void start_flusher(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&flusher_wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    flusher_stops = false;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    flusher_runs = pthread_create(&flusher, NULL, flush_forever, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (flusher_runs)
        pthread_setname_np(flusher, "dwell-flush");
}

static void stop_flusher(void)
{
    if (!flusher_runs)
        return;
    pthread_mutex_lock(&flusher_lock);
    flusher_stops = true;
    pthread_cond_signal(&flusher_wakes);
    pthread_mutex_unlock(&flusher_lock);
    pthread_join(flusher, NULL);
    flusher_runs = false;
}

static int open_log(void)
{
    int fd = open(log_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return DW_ERR_IO;
    log_drain = (struct dw_drain){0};
    int error = dw_log_writer_init(&log_drain.writer, fd);
    if (error) {
        dw_drain_release(&log_drain);
        close(fd);
        return error;
    }
    log_fd = fd;
    return 0;
}

/* The program may change its directory before the log is opened again. */
static int set_log_file(const char *path)
{
    char directory[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(directory, sizeof directory))
        return DW_ERR_IO;
    int size = snprintf(log_file, sizeof log_file, "%s%s%s", directory, *directory ? "/" : "", path);
    if (size >= (int)sizeof log_file) {
        errno = ENAMETOOLONG;
        return DW_ERR_IO;
    }
    return 0;
}

const char *dw_recorder_log_file(void)
{
    return log_file;
}

int dw_recorder_snapshot(struct dw_log_writer *writer)
{
    struct dw_drain drain = {.is_snapshot = true};
    if (is_fork)
        dw_track_get_slow();
    pthread_mutex_lock(&drain_lock);
    int error = dw_log_writer_init(&drain.writer, -1);
    if (!error) {
        dw_drain_run(&drain, &tables);
        dw_log_write_end(&drain.writer, 0, atomic_load(&dropped));
        error = drain.writer.error;
    }
    pthread_mutex_unlock(&drain_lock);
    *writer = drain.writer;
    return error;
}

static void install_fork_handlers(void);

/* Tracks of an earlier recording; those of living threads are forgotten by them. */
static void forget_tracks(void)
{
    for (uint32_t i = 0; i < tables.track_count; i++)
        forget_track(tables.tracks[i]);
    tables.track_count = 0;
    if (tables.folded)
        free_track(tables.folded);
    tables.folded = NULL;
}

int dw_recorder_start(const struct dw_record_options *wanted)
{
    static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
    if (atomic_load(&dw_recorder_active))
        return DW_ERR_ARGUMENT;
    pthread_once(&fork_once, install_fork_handlers);
    options = *wanted;
    forget_tracks();
    tables.process.first_clock = dw_clock_pair_now();
    describe_process();
    int error = 0;
    log_file[0] = 0;
    if (wanted->log_file) {
        error = set_log_file(wanted->log_file);
        if (!error)
            error = open_log();
    }
    if (error)
        return error;
    recording++;
    dw_recorder_generation++;
    atomic_store(&dw_recorder_active, true);
    dw_track_get_slow();
    if (log_fd >= 0)
        start_flusher();
    return 0;
}

void dw_recorder_widen(const struct dw_record_options *wanted)
{
    pthread_mutex_lock(&tables.lock);
    options.cpu |= wanted->cpu;
    options.timeline |= wanted->timeline;
    for (uint32_t i = 0; i < tables.track_count; i++) {
        tables.tracks[i]->cpu = options.cpu;
        tables.tracks[i]->timeline = options.timeline && log_fd >= 0;
    }
    pthread_mutex_unlock(&tables.lock);
}

int dw_recorder_stop(void)
{
    if (!atomic_exchange(&dw_recorder_active, false))
        return 0;
    dw_recorder_generation++;
    if (is_fork)
        return 0;
    stop_flusher();
    flush(true);
    int error = log_fd >= 0 && close(log_fd) ? DW_ERR_IO : 0;
    if (log_fd >= 0)
        dw_drain_release(&log_drain);
    log_fd = -1;
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

/* A process with one thread stays one while it forks: Python warns about others,
 * and the flusher is none of the program's. */
static void before_fork(void)
{
    if (flusher_runs) {
        stop_flusher();
        dw_recorder_flush();
        flusher_paused = true;
    }
    pthread_mutex_lock(&drain_lock);
    pthread_mutex_lock(&tables.lock);
    dw_timeline_lock();
}

static void unlock_after_fork(void)
{
    dw_timeline_unlock();
    pthread_mutex_unlock(&tables.lock);
    pthread_mutex_unlock(&drain_lock);
}

static void after_fork_in_parent(void)
{
    unlock_after_fork();
    dw_recorder_generation++; /* the next entry of any thread comes by and starts the flusher */
}

/* The child keeps nothing of the parent's file and records into one of its own,
 * but only once it enters or leaves a region. */
static void after_fork_in_child(void)
{
    unlock_after_fork();
    flusher_paused = false;
    if (!atomic_load(&dw_recorder_active))
        return;
    if (log_fd >= 0)
        close(log_fd);
    log_fd = -1;
    is_fork = true;
    dw_recorder_generation++;
}

static void install_fork_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void restart_node(struct dw_node *node, uint64_t now)
{
    dw_shared_u64 *numbers[] = {&node->count, &node->total, &node->suspended, &node->children,
                                &node->cpu, &node->max, &node->squares_low, &node->squares_high};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_shared_set(numbers[i], 0);
    dw_shared_set(&node->min, UINT64_MAX);
    dw_shared_set(&node->open_since, dw_shared_get(&node->open) * now);
    for (uint32_t b = 0; b < DW_NODE_BLOCKS; b++)
        if (node->blocks[b])
            memset(node->blocks[b], 0, DW_NODE_BLOCK * sizeof(uint32_t));
    node->written = NULL;
}

/* "name.dwell" becomes "name.PID.dwell". */
static void rename_log_file(void)
{
    char stem[PATH_MAX];
    strcpy(stem, log_file);
    size_t size = strlen(stem);
    if (size > 6 && !strcmp(stem + size - 6, ".dwell"))
        stem[size - 6] = 0;
    if (snprintf(log_file, sizeof log_file, "%s.%d.dwell", stem, (int)getpid()) >= PATH_MAX)
        log_file[0] = 0;
}

static void describe_child(const uint8_t parent[16])
{
    char text[33];
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", parent[i]);
    describe_text("parent", text);
}

static void continue_after_fork(struct dw_track *track)
{
    uint64_t now = dw_tick();
    uint8_t parent[16];
    is_fork = false;
    memcpy(parent, tables.process.uuid, sizeof parent);
    tables.process.first_clock = dw_clock_pair_now();
    describe_process();
    describe_child(parent);
    tables.track_count = 0;
    tables.folded = NULL;
    next_track_id = 0;
    atomic_store(&dropped, 0);
    if (log_file[0]) {
        rename_log_file();
        if (log_file[0] && open_log())
            log_file[0] = 0;
    }
    if (track && register_track(track)) {
        pthread_mutex_init(&track->lock, NULL);
        for (uint32_t i = 0; i < track->node_count; i++)
            restart_node(track->nodes[i], now);
        track->epoch = now;
        track->tid = thread_id();
        track->name_written = track->final_written = false;
        track->timeline = options.timeline && log_fd >= 0;
        dw_timeline_restart(track);
    }
    if (log_fd >= 0)
        start_flusher();
}
