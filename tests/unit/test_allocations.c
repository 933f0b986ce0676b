/* SPDX-License-Identifier: MIT
 * Memory that runs out at every single allocation: while a recording is read, saved and shown, and
 * while one is made. What says that it went well has the same result as with memory enough; nothing
 * is lost without a word, and nothing leaks. */
#include "check.h"

#include "failing.h"
#include "fixture_heap.h"
#include "views.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "dwell.h"
#include "lens/lens.h"
#include "log/reader.h"
#include "log/save.h"
#include "record/recorder.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAP_NODES 700
#define HEAP_TYPES 60

/* Something that allocates. Returns 0 and appends what came of it, or returns an error. */
struct deed {
    int (*run)(const struct deed *deed, struct dw_buffer *result);
    const char *name, *file;
    const struct dw_profile *profile;
    uint32_t view, salt;
};

/* Not a part of what is probed: memory is enough meanwhile. */
static void append_saved(const struct dw_profile *profile, struct dw_buffer *result)
{
    struct dw_log_writer writer;
    failing_stop();
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    assert_int_equal(dw_log_save(profile, &writer), 0);
    dw_buffer_append(result, writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
}

static int read_file(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_profile *profile;
    int error = dw_profile_new(&profile);
    if (error)
        return error;
    error = dw_log_read_file(deed->file, DW_READ_EVENTS, profile);
    if (!error)
        error = view_prepare(profile);
    append_saved(profile, result);
    dw_profile_free(profile);
    return error;
}

static int save(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_log_writer writer;
    int error = dw_log_writer_init(&writer, -1);
    if (!error)
        error = dw_log_save(deed->profile, &writer);
    failing_stop();
    dw_buffer_append(result, writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    return error;
}

static int show(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    int error = view_write(deed->profile, deed->view, deed->salt, &out);
    failing_stop();
    if (!out.error)
        dw_buffer_append(result, out.buffer.data, out.buffer.size);
    int closed = dw_out_close(&out);
    return error ? error : closed;
}

static uint32_t digest(struct dw_buffer *result)
{
    uint32_t found = dw_crc32c(0, result->data, result->size);
    dw_buffer_release(result);
    return found;
}

static bool is_right(const struct deed *deed, uint64_t nth, int expected_error, uint32_t expected)
{
    struct dw_buffer result = {0};
    int64_t live = failing_live();
    failing_start(nth, false);
    int error = deed->run(deed, &result);
    failing_stop();
    bool is_complete = digest(&result) == expected;
    if (failing_live() == live &&
        (error == DW_ERR_MEMORY || (error == expected_error && is_complete)))
        return true;
    print_error("%s %u of %s, allocation %u: %s, %s, %d not freed\n", deed->name, deed->view,
                deed->file, (unsigned)nth, error ? dw_error_text(error) : "no error",
                is_complete ? "complete" : "incomplete", (int)(failing_live() - live));
    return false;
}

/* Returns how many of the probes went wrong. */
static int probe(const struct deed *deed)
{
    struct dw_buffer result = {0};
    failing_start(0, false);
    int error = deed->run(deed, &result), wrong = 0;
    uint64_t count = failing_stop();
    uint32_t expected = digest(&result);
    for (uint64_t nth = 1; nth <= count; nth++)
        wrong += !is_right(deed, nth, error, expected);
    return wrong;
}

static int probe_views(const char *file, const struct dw_profile *profile)
{
    int wrong = 0;
    for (uint32_t i = 0; i < view_count(); i++)
        wrong += probe(&(struct deed){
            .run = show, .name = "view", .file = file, .profile = profile, .view = i, .salt = i});
    return wrong;
}

static struct dw_profile *load(const char *file)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(file, DW_READ_EVENTS, profile), 0);
    assert_int_equal(view_prepare(profile), 0);
    return profile;
}

static int probe_saving(const char *file, const struct dw_profile *profile)
{
    return probe(&(struct deed){.run = save, .name = "saving", .file = file, .profile = profile});
}

static int probe_file(const char *file)
{
    struct dw_profile *profile = load(file);
    int wrong = probe(&(struct deed){.run = read_file, .name = "reading", .file = file});
    wrong += probe_saving(file, profile) + probe_views(file, profile);
    dw_profile_free(profile);
    return wrong;
}

/* Reading one with every object of an interpreter asks for the same again and again: a_heap below
 * is read and shown in its place. */
static int probe_large(const char *file)
{
    struct dw_profile *profile = load(file);
    int wrong = probe_saving(file, profile);
    dw_profile_free(profile);
    return wrong;
}

static void recordings(void **state)
{
    glob_t files;
    (void)state;
    int wrong = 0;
    assert_int_equal(glob(KEPT "*.dwell", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        bool is_large = !strcmp(files.gl_pathv[i], KEPT "heap.dwell");
        wrong += (is_large ? probe_large : probe_file)(files.gl_pathv[i]);
    }
    globfree(&files);
    assert_int_equal(wrong, 0);
}

/* With all that a picture can have, and with more objects than are shown one by one. */
static void a_heap(void **state)
{
    char file[64];
    struct dw_heap heap;
    struct dw_log_writer writer;
    (void)state;
    snprintf(file, sizeof file, "test_allocations.%d.heap.dwell", (int)getpid());
    fixture_heap(&heap, HEAP_NODES, HEAP_TYPES, true);
    fixture_heap_log(&writer, &heap, 1);
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(writer.memory.data, writer.memory.size, 1, stream), 1);
    assert_int_equal(fclose(stream), 0);
    dw_log_writer_release(&writer);
    dw_heap_release(&heap);
    int wrong = probe_file(file);
    unlink(file);
    assert_int_equal(wrong, 0);
}

/* How often each path was entered, and whether events are said to be missing. */
static bool append_counts(const uint8_t *log, size_t size, struct dw_buffer *result)
{
    static const char *const columns[] = {"path", "count"};
    static const char no_losses[] = "\"losses\": {\"damaged_parts\": 0, \"damaged_bytes\": 0, "
                                    "\"cut_processes\": 0, \"dropped_events\": 0}";
    const struct dw_lens_options counts = {.columns = columns, .column_count = COUNT_OF(columns)};
    struct dw_profile *profile;
    struct dw_out csv, json;
    assert_int_equal(dw_profile_new(&profile), 0);
    int error = dw_log_read(log, size, DW_READ_EVENTS, profile);
    if (!error)
        error = view_prepare(profile);
    if (error) {
        dw_profile_free(profile);
        return true;
    }
    dw_out_init_memory(&csv);
    dw_out_init_memory(&json);
    assert_int_equal(dw_lens_find("csv")->write(profile, &counts, &csv), 0);
    assert_int_equal(dw_lens_find("json")->write(profile, &(struct dw_lens_options){0}, &json), 0);
    dw_buffer_append(result, csv.buffer.data, csv.buffer.size);
    dw_out_char(&json, '\0');
    bool is_missing = !strstr((char *)json.buffer.data, no_losses);
    dw_out_close(&csv);
    dw_out_close(&json);
    dw_profile_free(profile);
    return is_missing;
}

static void work(void)
{
    dw_region_id outer = dw_region_register("outer"), inner = dw_region_register("inner");
    for (int i = 0; i < 3; i++) {
        dw_region_entry entry = dw_region_enter(outer);
        dw_region_exit(dw_region_enter(inner));
        dw_region_exit(entry);
    }
    dw_count("orders", 7);
    dw_instant("done");
}

struct recorded {
    int error;
    bool is_missing;         /* it says that something is */
    struct dw_buffer counts; /* as text */
};

static void append_file(const char *path, struct recorded *recorded)
{
    struct dw_file file;
    recorded->error = dw_file_open(path, &file);
    if (recorded->error)
        return;
    recorded->is_missing |= append_counts(file.data, file.size, &recorded->counts);
    dw_file_close(&file);
}

/* Into the file, or into memory. */
static struct recorded record(const char *file, uint64_t nth, bool for_good, uint64_t *allocations)
{
    struct recorded recorded = {0};
    struct dw_log_writer snapshot = {0};
    failing_start(nth, for_good);
    recorded.error = dw_record_start(file, file ? DW_RECORD_TIMELINE | DW_RECORD_CPU : 0);
    if (!recorded.error) {
        work();
        recorded.error = dw_recorder_snapshot(&snapshot);
        int stopped = dw_record_stop();
        recorded.error = recorded.error ? recorded.error : stopped;
    }
    *allocations = failing_stop();
    if (!recorded.error)
        recorded.is_missing =
            append_counts(snapshot.memory.data, snapshot.memory.size, &recorded.counts);
    if (!recorded.error && file)
        append_file(file, &recorded);
    dw_log_writer_release(&snapshot);
    return recorded;
}

enum verdict { RIGHT, WRONG, DONE };

/* A recording with that failure, then one without, which nothing is left of it in. */
static enum verdict judge(const char *file, uint64_t nth, bool for_good)
{
    uint64_t allocations, unused;
    struct recorded first = record(file, nth, for_good, &allocations);
    struct recorded second = record(file, 0, false, &unused);
    bool is_same = digest(&first.counts) == digest(&second.counts);
    if (second.error || second.is_missing || (!first.error && !first.is_missing && !is_same)) {
        print_error("recording to %s, allocation %u%s: %s, counts %s, then %s\n",
                    file ? "a file" : "memory", (unsigned)nth, for_good ? " and all after it" : "",
                    first.error ? dw_error_text(first.error) : "no error",
                    is_same ? "complete" : "incomplete without a word",
                    second.error        ? dw_error_text(second.error)
                    : second.is_missing ? "incomplete"
                                        : "complete");
        return WRONG;
    }
    return nth > allocations ? DONE : RIGHT;
}

/* The recorder keeps its names as long as its process lives: each attempt has one of its own, which
 * looks for leaks as it ends. */
static enum verdict judge_apart(const char *file, uint64_t nth, bool for_good)
{
    int status;
    pid_t child = fork();
    if (!child)
        exit((int)judge(file, nth, for_good));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? (enum verdict)WEXITSTATUS(status) : WRONG;
}

static int probe_recorder(const char *file, bool for_good)
{
    int wrong = 0;
    enum verdict verdict = RIGHT;
    for (uint64_t nth = 1; verdict != DONE && wrong < 10; nth++) {
        verdict = judge_apart(file, nth, for_good);
        wrong += verdict != RIGHT && verdict != DONE;
    }
    return wrong;
}

static void the_recorder(void **state)
{
    char file[64];
    (void)state;
    snprintf(file, sizeof file, "test_allocations.%d.dwell", (int)getpid());
    int wrong = probe_recorder(NULL, false) + probe_recorder(NULL, true);
    wrong += probe_recorder(file, false) + probe_recorder(file, true);
    unlink(file);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorder), /* forks, which is faster in a process that is small yet */
        cmocka_unit_test(recordings), cmocka_unit_test(a_heap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
