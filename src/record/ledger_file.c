/* SPDX-License-Identifier: MIT
 * The file of a ledger: who shares it, when it is made, what is written to it, and whose it is
 * after a fork. */
#include "base/error.h"
#include "base/grow.h"
#include "log/log_name.h"
#include "record/ledger.h"
#include "record/process.h"
#include "record/reserve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Regions take their times in ticks, all others in nanoseconds. */
#define IN_TICKS                                                                                   \
    (DW_MASK(DW_TOTAL) | DW_MASK(DW_SUSPENDED) | DW_MASK(DW_CHILDREN) | DW_MASK(DW_MIN) |          \
     DW_MASK(DW_MAX) | DW_MASK(DW_OPEN_TOTAL))

/* The ledgers of this process and their users. Who opens one, or frees it, has this lock, and takes
 * it before all locks of a ledger. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dw_ledger *ledgers;

static int say_parent(struct dw_ledger *ledger)
{
    char text[33];
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", ledger->parent[i]);
    return dw_process_add_property(&ledger->process, &ledger->strings,
                                   (struct dw_string){"parent", 6}, (struct dw_string){text, 32});
}

static int introduce_child(struct dw_ledger *ledger)
{
    pthread_mutex_lock(&ledger->tables);
    int error = dw_process_introduce(&ledger->process, &ledger->strings);
    if (!error)
        error = say_parent(ledger);
    ledger->process.first_clock = ledger->forked_at;
    ledger->is_forked = error != 0;
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

/* Under `file`. Makes what is written to, unless it is there. */
static int make_file(struct dw_ledger *ledger)
{
    if (!ledger->is_late)
        return 0;
    int error = ledger->is_forked ? introduce_child(ledger) : 0;
    if (!error && ledger->is_name_ours)
        error = dw_log_claim(ledger->path);
    if (!error)
        error = dw_log_writer_create(&ledger->sink.writer, ledger->path);
    ledger->sink.writer.source_reader = ledger->source_reader;
    ledger->is_late = error != 0;
    return error;
}

static void drop_sink(struct dw_ledger *ledger)
{
    dw_log_writer_close(&ledger->sink.writer);
    dw_log_writer_release(&ledger->sink.writer);
    ledger->sink = (struct dw_sink){.writer.fd = -1};
}

static void free_ledger(struct dw_ledger *ledger)
{
    int saved_errno = errno;
    drop_sink(ledger);
    dw_ledger_tables_release(ledger);
    pthread_mutex_destroy(&ledger->file);
    pthread_mutex_destroy(&ledger->tables);
    free(ledger->path);
    free(ledger);
    errno = saved_errno;
}

static int new_ledger(const struct dw_ledger_options *options, const char *path,
                      struct dw_ledger **result)
{
    struct dw_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger)
        return DW_ERR_MEMORY;
    pthread_mutex_init(&ledger->file, NULL);
    pthread_mutex_init(&ledger->tables, NULL);
    ledger->sink.writer.fd = -1;
    ledger->is_late = true;
    ledger->is_name_ours = options->is_name_ours;
    ledger->is_quiet = options->is_quiet;
    ledger->source_reader = options->source_reader;
    ledger->path = path ? strdup(path) : NULL;
    ledger->stem_size = path ? dw_log_stem_size(path) : 0;
    int error = path && !ledger->path ? DW_ERR_MEMORY : dw_ledger_tables_init(ledger);
    if (!error)
        error = dw_process_introduce(&ledger->process, &ledger->strings);
    if (!error && !options->is_late)
        error = make_file(ledger);
    if (error)
        free_ledger(ledger);
    else
        *result = ledger;
    return error;
}

/* The program may change its directory before a file is made. */
static int make_absolute(const char *path, char absolute[PATH_MAX])
{
    char directory[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(directory, sizeof directory))
        return DW_ERR_IO;
    int size = snprintf(absolute, PATH_MAX, "%s%s%s", directory, *directory ? "/" : "", path);
    errno = ENAMETOOLONG;
    return size < PATH_MAX ? 0 : DW_ERR_IO;
}

static bool has_file(struct dw_ledger *ledger, const char *path)
{
    struct stat file;
    pthread_mutex_lock(&ledger->file);
    const struct dw_log_writer *writer = &ledger->sink.writer;
    bool is_same = !strcmp(ledger->path, path) ||
                   (writer->fd >= 0 && !stat(path, &file) && writer->device == file.st_dev &&
                    writer->inode == file.st_ino);
    pthread_mutex_unlock(&ledger->file);
    return is_same;
}

static struct dw_ledger *find_ledger(const char *path)
{
    struct dw_ledger *ledger = ledgers;
    while (ledger && !(dw_ledger_has_file(ledger) && has_file(ledger, path)))
        ledger = ledger->next;
    return ledger;
}

int dw_ledger_open(const struct dw_ledger_options *options, struct dw_ledger **result)
{
    char path[PATH_MAX];
    int error = options->path ? make_absolute(options->path, path) : 0;
    if (error)
        return error;
    pthread_mutex_lock(&list_lock);
    struct dw_ledger *ledger = options->path ? find_ledger(path) : NULL;
    if (!ledger) {
        error = new_ledger(options, options->path ? path : NULL, &ledger);
        if (!error) {
            ledger->next = ledgers;
            ledgers = ledger;
        }
    }
    if (!error && options->path)
        dw_reserve_hold();
    if (!error) {
        ledger->users++;
        ledger->holders++;
        *result = ledger;
    }
    pthread_mutex_unlock(&list_lock);
    return error;
}

void dw_ledger_hold(struct dw_ledger *ledger)
{
    atomic_fetch_add(&ledger->holders, 1);
}

/* False for the last holder, who has to free it. */
static bool leave_to_others(struct dw_ledger *ledger)
{
    uint32_t holders = atomic_load(&ledger->holders);
    while (holders > 1)
        if (atomic_compare_exchange_weak(&ledger->holders, &holders, holders - 1))
            return true;
    return false;
}

void dw_ledger_release(struct dw_ledger *ledger)
{
    if (!ledger || leave_to_others(ledger))
        return;
    pthread_mutex_lock(&list_lock);
    bool is_free = atomic_fetch_sub(&ledger->holders, 1) == 1;
    struct dw_ledger **link = &ledgers;
    while (*link != ledger)
        link = &(*link)->next;
    if (is_free)
        *link = ledger->next;
    pthread_mutex_unlock(&list_lock);
    if (is_free)
        free_ledger(ledger);
}

/* Under `tables`. Names of processes come late: the program gives them. */
static void write_process(struct dw_ledger *ledger, struct dw_sink *sink)
{
    uint32_t changes = dw_process_changes();
    if (ledger->changes != changes && !dw_process_update(&ledger->process, &ledger->strings))
        ledger->changes = changes;
    if (!sink->has_process) {
        dw_log_write_process(&sink->writer, 0, &ledger->process, &ledger->strings);
        dw_log_write_measures(&sink->writer, IN_TICKS);
    } else if (sink->changes != ledger->changes) {
        dw_log_write_properties(&sink->writer, 0, &ledger->process, &ledger->strings);
    }
    sink->has_process = true;
    sink->changes = ledger->changes;
}

static void write_tables(struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct dw_log_writer *writer = &sink->writer;
    write_process(ledger, sink);
    dw_log_write_strings(writer, &ledger->strings, sink->strings);
    dw_log_write_frames(writer, &ledger->frames, sink->frames);
    dw_log_write_modules(writer, 0, ledger->modules, ledger->module_count, sink->modules);
    dw_log_write_places(writer, &ledger->places, sink->places);
    dw_log_write_labels(writer, &ledger->labels, sink->labels);
    dw_log_write_tree(writer, &ledger->paths, sink->paths);
    dw_ledger_write_threads(ledger, sink);
    sink->strings = ledger->strings.count;
    sink->frames = ledger->frames.count;
    sink->modules = ledger->module_count;
    sink->places = ledger->places.count;
    sink->labels = ledger->labels.count;
    sink->paths = ledger->paths.count;
}

void dw_ledger_define(struct dw_ledger *ledger, struct dw_sink *sink)
{
    pthread_mutex_lock(&ledger->tables);
    write_tables(ledger, sink);
    pthread_mutex_unlock(&ledger->tables);
    if (sink->writer.fd >= 0)
        dw_ledger_write_sources(ledger, sink);
}

/* Ends what a probe wrote; `ends`: says that the log is complete. 0, or an error with errno. */
static int complete(struct dw_ledger *ledger, struct dw_sink *sink, bool ends)
{
    struct dw_clock_pair now = ledger->ended.tick ? ledger->ended : dw_clock_pair_now();
    dw_log_write_clock(&sink->writer, 0, &now);
    if (ends)
        dw_log_write_end(&sink->writer, 0, atomic_load(&ledger->dropped),
                         atomic_load(&ledger->is_reported));
    return dw_log_writer_error(&sink->writer);
}

/* Under `file`. Tells the trouble once. */
static void give_up(struct dw_ledger *ledger, int error)
{
    ledger->error = error;
    ledger->saved_errno = errno;
    if (ledger->path && !ledger->is_quiet)
        dprintf(STDERR_FILENO, "dwell: %s: %s; recording goes on without the file\n", ledger->path,
                dw_error_text(error));
    drop_sink(ledger);
}

static int flush(struct dw_ledger *ledger, dw_collect *collect, void *context, bool ends)
{
    int error = make_file(ledger);
    if (!error)
        error = collect(context, ledger, &ledger->sink);
    if (!error)
        error = complete(ledger, &ledger->sink, ends);
    if (error)
        give_up(ledger, error);
    pthread_mutex_lock(&ledger->tables);
    dw_ledger_forget_threads(ledger);
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

/* Of the calling thread. */
static __thread bool is_flushing;

bool dw_ledger_is_flushing(void)
{
    return is_flushing;
}

static int flush_locked(struct dw_ledger *ledger, dw_collect *collect, void *context, bool is_last,
                        bool ends)
{
    pthread_mutex_lock(&ledger->file);
    int error = ledger->error;
    errno = ledger->saved_errno;
    ledger->sink.is_last = is_last;
    ledger->is_leaving |= ends;
    is_flushing = true;
    if (!error && dw_reserve_has_room(is_last))
        error = flush(ledger, collect, context, ledger->is_leaving);
    is_flushing = false;
    pthread_mutex_unlock(&ledger->file);
    return error;
}

int dw_ledger_flush(struct dw_ledger *ledger, dw_collect *collect, void *context, bool is_last)
{
    return flush_locked(ledger, collect, context, is_last, false);
}

int dw_ledger_flush_end(struct dw_ledger *ledger, dw_collect *collect, void *context)
{
    return flush_locked(ledger, collect, context, true, true);
}

void dw_ledgers_stay(void)
{
    dw_ledgers_lock();
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        ledger->is_leaving = false;
    dw_ledgers_unlock();
}

/* Under the list's lock and `file`. A file that nothing was told has nothing to complete. */
static int close_file(struct dw_ledger *ledger)
{
    int error = ledger->error;
    if (!error && ledger->sink.has_process)
        error = complete(ledger, &ledger->sink, true);
    if (!ledger->error && ledger->path) {
        int trouble = dw_log_writer_close(&ledger->sink.writer);
        error = error ? error : trouble;
    }
    if (ledger->error)
        errno = ledger->saved_errno;
    return error;
}

int dw_ledger_stop(struct dw_ledger *ledger)
{
    pthread_mutex_lock(&list_lock);
    pthread_mutex_lock(&ledger->file);
    errno = ledger->saved_errno;
    int error = --ledger->users ? ledger->error : close_file(ledger);
    pthread_mutex_unlock(&ledger->file);
    pthread_mutex_unlock(&list_lock);
    return error;
}

int dw_ledger_snapshot(struct dw_ledger *ledger, dw_collect *collect, void *context,
                       struct dw_log_writer *writer)
{
    struct dw_sink sink = {.is_whole = true};
    pthread_mutex_lock(&ledger->file);
    int error = dw_log_writer_init(&sink.writer, -1);
    is_flushing = true;
    if (!error)
        error = collect(context, ledger, &sink);
    if (!error)
        error = complete(ledger, &sink, true);
    is_flushing = false;
    pthread_mutex_unlock(&ledger->file);
    *writer = sink.writer;
    return error;
}

bool dw_ledger_has_file(struct dw_ledger *ledger)
{
    return ledger->path && !ledger->error && ledger->users;
}

bool dw_ledger_is_late(struct dw_ledger *ledger)
{
    return ledger->is_late;
}

void dw_ledgers_lock(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        pthread_mutex_lock(&ledger->file);
}

void dw_ledgers_lock_tables(void)
{
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        pthread_mutex_lock(&ledger->tables);
}

void dw_ledgers_unlock_tables(void)
{
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        pthread_mutex_unlock(&ledger->tables);
}

void dw_ledgers_unlock(void)
{
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        pthread_mutex_unlock(&ledger->file);
    pthread_mutex_unlock(&list_lock);
}

/* A child of a child puts its own pid where its parent's is. */
static int rename_file(struct dw_ledger *ledger)
{
    char path[PATH_MAX];
    if (!ledger->path)
        return 0;
    snprintf(path, sizeof path, "%s", ledger->path);
    int error = dw_log_name_child(path, sizeof path, ledger->stem_size, getpid(), 1);
    char *copy = error ? NULL : strdup(path);
    if (!copy)
        return error ? error : DW_ERR_MEMORY;
    free(ledger->path);
    ledger->path = copy;
    return 0;
}

static void fork_ledger(struct dw_ledger *ledger)
{
    if (!ledger->is_forked)
        memcpy(ledger->parent, ledger->process.uuid, sizeof ledger->parent);
    drop_sink(ledger);
    dw_ledger_tables_release(ledger);
    ledger->error = dw_ledger_tables_init(ledger);
    if (!ledger->error)
        ledger->error = rename_file(ledger);
    ledger->sampling = (struct dw_sampling){0};
    atomic_store(&ledger->dropped, 0);
    atomic_store(&ledger->is_reported, false);
    ledger->is_late = ledger->is_forked = true;
    ledger->is_leaving = false;
    ledger->forked_at = dw_clock_pair_now();
}

void dw_ledgers_forked(void)
{
    for (struct dw_ledger *ledger = ledgers; ledger; ledger = ledger->next)
        fork_ledger(ledger);
}
