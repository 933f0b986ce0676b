/* SPDX-License-Identifier: MIT
 * Samples: written to a log, read back, saved again, and made into paths and lines to show. */
#include "check.h"
#include "fixture.h"

#include "base/error.h"
#include "lens/view/measured.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/prepare/prepare.h"
#include "record/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000u

/* main (line 3 or 4) calls work (line 8), which calls the native crunch, inlined into outer. */
struct recording {
    struct dw_ledger *log;
    dw_path_id main_3, main_4, work, native;
    uint32_t thread;
};

static dw_place_id place_of(struct dw_ledger *log, uint32_t kind, const char *name, uint32_t line,
                            dw_place_id outer)
{
    struct dw_frame frame = {.kind = kind, .line = kind == DW_FRAME_FUNCTION ? 1 : 0};
    struct dw_place place = {.line = line, .column = 5, .outer = outer};
    dw_place_id id = 0;
    assert_int_equal(dw_ledger_string(log, name, strlen(name), &frame.name), 0);
    assert_int_equal(dw_ledger_string(log, "/src/x", 6, &frame.file), 0);
    assert_int_equal(dw_ledger_frame(log, &frame, &place.frame), 0);
    assert_int_equal(dw_ledger_place(log, &place, &id), 0);
    return id;
}

static dw_path_id stack_of(struct dw_ledger *log, dw_path_id parent, dw_place_id place)
{
    dw_path_id id = 0;
    assert_int_equal(dw_ledger_path(log, parent, place, &id), 0);
    return id;
}

static void start_in(struct recording *recording, const char *path, bool timeline)
{
    assert_int_equal(dw_ledger_open(&(struct dw_ledger_options){.path = path}, &recording->log), 0);
    struct dw_ledger *log = recording->log;
    log->timeline = timeline;
    log->sampling = (struct dw_sampling){.native = true, .period_ns = MS, .taken = 4, .missed = 2};
    dw_place_id outer = place_of(log, DW_FRAME_NATIVE, "outer", 40, 0);
    recording->main_3 = stack_of(log, 0, place_of(log, DW_FRAME_FUNCTION, "main", 3, 0));
    recording->main_4 = stack_of(log, 0, place_of(log, DW_FRAME_FUNCTION, "main", 4, 0));
    recording->work =
        stack_of(log, recording->main_3, place_of(log, DW_FRAME_FUNCTION, "work", 8, 0));
    recording->native =
        stack_of(log, recording->work, place_of(log, DW_FRAME_NATIVE, "crunch", 20, outer));
    assert_int_equal(dw_ledger_thread(log, 1, 77, &recording->thread), 0);
    dw_ledger_name_thread(log, recording->thread, "worker", 6);
}

static void start(struct recording *recording, bool timeline)
{
    start_in(recording, NULL, timeline);
}

static int flush(struct recording *recording)
{
    return dw_ledger_flush(recording->log, dw_samples_collect, NULL, false);
}

static int flush_end(struct recording *recording)
{
    return dw_ledger_flush_end(recording->log, dw_samples_collect, NULL);
}

static void add(struct recording *recording, dw_path_id stack, uint32_t state, uint32_t at_ms,
                uint32_t weight_ms)
{
    uint64_t now = recording->log->process.first_clock.monotonic_ns + (uint64_t)at_ms * MS;
    assert_int_equal(dw_samples_add(recording->log, recording->thread, stack, state, DW_LABELS_NONE,
                                    now, (uint64_t)weight_ms * MS),
                     0);
}

static void add_all(struct recording *recording)
{
    add(recording, recording->native, DW_SAMPLE_NATIVE, 10, 10);
    add(recording, recording->native, DW_SAMPLE_NATIVE, 20, 5);
    add(recording, recording->work, DW_SAMPLE_PYTHON | DW_SAMPLE_HOLDS_GIL, 30, 3);
    assert_int_equal(flush(recording), 0);
    add(recording, recording->native, DW_SAMPLE_NATIVE, 40, 1);
    add(recording, recording->main_4, DW_SAMPLE_WAITING, 50, 20);
    assert_int_equal(flush_end(recording), 0);
}

static struct dw_profile *read_back(const struct dw_log_writer *writer, unsigned flags)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read(writer->memory.data, writer->memory.size, flags, profile), 0);
    return profile;
}

static struct dw_profile *record(bool timeline)
{
    struct recording recording;
    start(&recording, timeline);
    add_all(&recording);
    struct dw_profile *profile = read_back(&recording.log->sink.writer, DW_READ_EVENTS);
    dw_ledger_release(recording.log);
    return profile;
}

static uint64_t weight_of(const struct dw_profile *profile, uint32_t state, uint64_t *count)
{
    struct dw_sample sample;
    uint64_t weight = 0;
    *count = 0;
    for (uint32_t at = 0; dw_profile_sample(profile, 0, &at, &sample);)
        if (sample.state == state) {
            weight += sample.weight;
            *count += sample.count;
        }
    return weight;
}

static void check_samples(const struct dw_profile *profile)
{
    uint64_t count;
    assert_int_equal(profile->thread_count, 1);
    assert_int_equal(profile->threads[0].tid, 77);
    assert_string_equal(dw_profile_string(profile, profile->threads[0].name).bytes, "worker");
    assert_int_equal(profile->threads[0].values.count, 3);
    assert_int_equal(weight_of(profile, DW_SAMPLE_NATIVE, &count), 16 * MS);
    assert_int_equal(count, 3);
    assert_int_equal(weight_of(profile, DW_SAMPLE_PYTHON | DW_SAMPLE_HOLDS_GIL, &count), 3 * MS);
    assert_int_equal(weight_of(profile, DW_SAMPLE_WAITING, &count), 20 * MS);
    assert_true(profile->processes[0].is_sampled);
    assert_int_equal(profile->processes[0].sampling.missed, 2);
    assert_int_equal(profile->processes[0].sampling.period_ns, MS);
}

static void test_a_log_holds_the_samples(void **state)
{
    (void)state;
    struct dw_profile *profile = record(false);
    check_samples(profile);
    assert_int_equal(profile->threads[0].timed_count, 0);
    dw_profile_free(profile);
}

static void test_a_saved_profile_is_the_same(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_profile *profile = record(true);
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    assert_int_equal(dw_log_save(profile, &writer), 0);
    struct dw_profile *again = read_back(&writer, DW_READ_EVENTS);
    check_samples(again);
    assert_int_equal(again->threads[0].timed_count, 5);
    for (int i = 0; i < 5; i++)
        assert_memory_equal(&again->threads[0].timed[i].time_ns,
                            &profile->threads[0].timed[i].time_ns, sizeof(uint64_t));
    dw_log_writer_release(&writer);
    dw_profile_free(again);
    dw_profile_free(profile);
}

static void test_single_samples_have_their_time(void **state)
{
    (void)state;
    struct dw_profile *profile = record(true);
    const struct dw_thread *thread = &profile->threads[0];
    uint64_t start_ns = profile->processes[0].first_clock.wall_ns;
    assert_int_equal(thread->timed_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(thread->timed[i].time_ns - start_ns, (i + 1) * 10ull * MS);
    assert_int_equal(thread->timed[4].weight_ns, 20 * MS);
    dw_profile_free(profile);
}

static bool is_path(const struct dw_profile *profile, dw_path_id path, const char *const *names)
{
    uint32_t depth = 0;
    while (names[depth])
        depth++;
    while (depth && path && !strcmp(dw_profile_path_name(profile, path).bytes, names[depth - 1]))
        path = profile->functions.paths[path].parent, depth--;
    return !depth && !path;
}

/* The samples of the path of functions of these names, outermost first. */
static struct dw_metric metric_of(struct dw_measuring *measuring, const char *const *names)
{
    struct dw_metric found = {0};
    bool is_found = false;
    for (dw_measuring_thread(measuring, 0); dw_measuring_next(measuring);)
        if (is_path(measuring->profile, measuring->item.path, names)) {
            found = measuring->item.metric;
            is_found = true;
        }
    if (is_found)
        return found;
    fail_msg("no path of that name");
    return (struct dw_metric){0};
}

static void test_paths_of_functions_have_inlined_ones(void **state)
{
    (void)state;
    struct dw_profile *profile = record(false);
    struct dw_measuring measuring;
    assert_int_equal(dw_profile_prepare(profile, false), 0);
    assert_int_equal(dw_measuring_init(&measuring, profile, DW_FAMILY_SAMPLES), 0);
    struct dw_metric metric = metric_of(&measuring, (const char *[]){"main", NULL});
    assert_int_equal(metric.total, 39 * MS);
    assert_int_equal(metric.children, 19 * MS);
    assert_int_equal(metric.count, 5);
    metric = metric_of(&measuring, (const char *[]){"main", "work", NULL});
    assert_int_equal(metric.total - metric.children, 3 * MS);
    metric = metric_of(&measuring, (const char *[]){"main", "work", "outer", "crunch", NULL});
    assert_int_equal(metric.total, 16 * MS);
    assert_int_equal(metric.children, 0);
    dw_measuring_release(&measuring);
    dw_profile_free(profile);
}

static const uint64_t *line_values(const struct dw_profile *profile, const char *name,
                                   uint32_t line)
{
    for (uint32_t i = 0; i < profile->lines.count; i++) {
        const struct dw_line *row = &profile->lines.lines[i];
        dw_string_id id = profile->frames.frames[row->function].name;
        if (row->line == line && !strcmp(dw_profile_string(profile, id).bytes, name))
            return row->values;
    }
    fail_msg("no such line");
    return NULL;
}

static void test_the_time_of_lines_is_split(void **state)
{
    (void)state;
    struct dw_profile *profile = record(false);
    assert_int_equal(dw_profile_prepare(profile, false), 0);
    const uint64_t *work = line_values(profile, "work", 8);
    assert_int_equal(work[DW_LINE_TOTAL], 19 * MS);
    assert_int_equal(work[DW_LINE_NATIVE], 16 * MS);
    assert_int_equal(work[DW_LINE_PYTHON], 3 * MS);
    assert_int_equal(work[DW_LINE_SELF], 3 * MS);
    assert_int_equal(line_values(profile, "main", 3)[DW_LINE_TOTAL], 19 * MS);
    assert_int_equal(line_values(profile, "main", 3)[DW_LINE_PYTHON], 0);
    assert_int_equal(line_values(profile, "main", 4)[DW_LINE_WAITING], 20 * MS);
    assert_int_equal(line_values(profile, "main", 0)[DW_LINE_TOTAL], 39 * MS);
    assert_int_equal(line_values(profile, "crunch", 20)[DW_LINE_SELF], 16 * MS);
    assert_int_equal(line_values(profile, "outer", 40)[DW_LINE_TOTAL], 16 * MS);
    assert_int_equal(line_values(profile, "outer", 40)[DW_LINE_SELF], 0);
    dw_profile_free(profile);
}

static void test_recursion_counts_a_line_once(void **state)
{
    (void)state;
    struct recording recording;
    start(&recording, false);
    dw_place_id place = place_of(recording.log, DW_FRAME_FUNCTION, "fib", 2, 0);
    dw_path_id stack = 0;
    for (int i = 0; i < 50; i++)
        stack = stack_of(recording.log, stack, place);
    add(&recording, stack, DW_SAMPLE_PYTHON, 10, 7);
    flush_end(&recording);
    struct dw_profile *profile = read_back(&recording.log->sink.writer, 0);
    assert_int_equal(dw_profile_prepare(profile, false), 0);
    assert_int_equal(line_values(profile, "fib", 2)[DW_LINE_TOTAL], 7 * MS);
    assert_int_equal(line_values(profile, "fib", 0)[DW_LINE_SAMPLES], 1);
    dw_ledger_release(recording.log);
    dw_profile_free(profile);
}

static dw_place_id native_place(struct dw_ledger *log, const char *name, const char *object)
{
    struct dw_frame frame = {.kind = DW_FRAME_NATIVE};
    struct dw_module module = {0};
    struct dw_place place = {0};
    dw_place_id id = 0;
    dw_ledger_string(log, name, strlen(name), &frame.name);
    dw_ledger_string(log, object, strlen(object), &module.path);
    assert_int_equal(dw_ledger_frame(log, &frame, &place.frame), 0);
    assert_int_equal(dw_ledger_module(log, &module, &place.module), 0);
    assert_int_equal(dw_ledger_place(log, &place, &id), 0);
    return id;
}

/* The names of a path, outermost first, one after the other. */
static void check_path(const struct dw_profile *profile, dw_path_id path, const char *expected)
{
    char text[200] = "";
    for (; path; path = profile->paths.paths[path].parent) {
        dw_string_id name = dw_profile_path_frame(profile, path)->name;
        char longer[200];
        int size =
            snprintf(longer, sizeof longer, "%s %s", dw_profile_string(profile, name).bytes, text);
        assert_in_range(size, 1, sizeof longer - 1);
        memcpy(text, longer, sizeof text);
    }
    assert_string_equal(text, expected);
}

/* The names of frames, and the objects of those that are native. */
static void check_shown(const char *const (*frames)[2], uint32_t count, bool internals,
                        const char *expected)
{
    struct recording recording;
    dw_path_id stack = 0;
    start(&recording, false);
    for (uint32_t i = 0; i < count; i++)
        stack =
            stack_of(recording.log, stack,
                     frames[i][1] ? native_place(recording.log, frames[i][0], frames[i][1])
                                  : place_of(recording.log, DW_FRAME_FUNCTION, frames[i][0], 1, 0));
    add(&recording, stack, DW_SAMPLE_PYTHON, 10, 7);
    flush_end(&recording);
    struct dw_profile *profile = read_back(&recording.log->sink.writer, 0);
    assert_int_equal(dw_profile_prepare(profile, internals), 0);
    assert_int_equal(profile->threads[0].values.count, 1);
    check_path(profile, profile->threads[0].values.rows[0].path, expected);
    dw_ledger_release(recording.log);
    dw_profile_free(profile);
}

static void test_the_interpreter_is_hidden_with_what_works_for_it(void **state)
{
    (void)state;
    static const char *const program[][2] = {{"_start", "/usr/bin/python3.11"},
                                             {"__libc_start_main", "/lib/libc.so.6"},
                                             {"Py_RunMain", "/lib/libpython3.11.so.1.0"},
                                             {"main", NULL},
                                             {"cfunction_call", "/lib/libpython3.11.so.1.0"},
                                             {"crunch", "/x/python_speedups.so"},
                                             {"malloc", "/lib/libc.so.6"}};
    check_shown(program, 7, false, "main crunch malloc ");
    check_shown(program, 7, true,
                "_start __libc_start_main Py_RunMain main cfunction_call crunch malloc ");
    static const char *const allocates[][2] = {{"main", NULL},
                                               {"_PyObject_Malloc", "/usr/bin/python3.11"},
                                               {"malloc", "/lib/libc.so.6"},
                                               {"__tls_get_addr", "/lib/ld-linux-x86-64.so.2"}};
    check_shown(allocates, 4, false, "main ");
    static const char *const thread[][2] = {{"clone3", "/lib/libc.so.6"},
                                            {"blas_thread_server", "/x/libopenblas.so"}};
    check_shown(thread, 2, false, "clone3 blas_thread_server ");
}

/* What was sampled outside of all functions is marked, and so is what only hidden ones were in. */
static void test_samples_without_frames_are_marked(void **state)
{
    (void)state;
    struct recording recording;
    start(&recording, true);
    dw_path_id hidden =
        stack_of(recording.log, 0, native_place(recording.log, "_start", "/bin/python3.13"));
    add(&recording, DW_PATH_ROOT, DW_SAMPLE_WAITING, 10, 7);
    add(&recording, hidden, DW_SAMPLE_WAITING, 20, 5);
    flush_end(&recording);
    struct dw_profile *profile = read_back(&recording.log->sink.writer, DW_READ_EVENTS);
    const struct dw_thread *thread = &profile->threads[0];
    assert_int_equal(dw_profile_prepare(profile, false), 0);
    assert_int_equal(thread->values.count, 1);
    assert_int_equal(dw_value_get(&thread->values, &thread->values.rows[0], DW_CPU), 12 * MS);
    check_path(profile, thread->values.rows[0].path, "[no frames] ");
    assert_int_equal(thread->timed_count, 2);
    check_path(profile, thread->timed[0].path, "[no frames] ");
    check_path(profile, thread->timed[1].path, "[no frames] ");
    dw_ledger_release(recording.log);
    dw_profile_free(profile);
}

/* Every cut and many flips: whatever is read can be shown. */
static void test_damage_costs_only_itself(void **state)
{
    (void)state;
    struct recording recording;
    start(&recording, true);
    add_all(&recording);
    struct dw_buffer *bytes = &recording.log->sink.writer.memory;
    for (size_t size = 0; size < bytes->size; size++) {
        struct dw_profile *profile;
        assert_int_equal(dw_profile_new(&profile), 0);
        bytes->data[size] ^= 0x20;
        dw_log_read(bytes->data, bytes->size, DW_READ_EVENTS, profile);
        assert_int_equal(dw_profile_prepare(profile, false), 0);
        bytes->data[size] ^= 0x20;
        dw_profile_free(profile);
        assert_int_equal(dw_profile_new(&profile), 0);
        dw_log_read(bytes->data, size, DW_READ_EVENTS, profile);
        assert_int_equal(dw_profile_prepare(profile, false), 0);
        dw_profile_free(profile);
    }
    dw_ledger_release(recording.log);
}

/* The log knows all of them, memory only those that are there. */
static void test_threads_that_ended_cost_no_memory(void **state)
{
    struct recording recording;
    struct dw_profile *profile;
    char path[] = "/tmp/dwell-test-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    start_in(&recording, path, true);
    for (uint32_t i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "thread %u", i);
        assert_int_equal(dw_ledger_thread(recording.log, 1, 100 + i, &recording.thread), 0);
        dw_ledger_name_thread(recording.log, recording.thread, name, strlen(name));
        add(&recording, recording.work, DW_SAMPLE_PYTHON, 10 + i, 1);
        dw_ledger_end_thread(recording.log, recording.thread);
        dw_ledger_leave_thread(recording.log, 1, recording.thread);
        if (i % 10 == 9)
            assert_int_equal(flush(&recording), 0);
    }
    assert_int_equal(flush_end(&recording), 0);
    assert_in_range(recording.log->thread_count, 1, 16);
    assert_in_range(recording.log->strings.count, 1, 32);
    dw_ledger_release(recording.log);
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(path, 0, profile), 0);
    assert_int_equal(profile->thread_count, 1001);
    for (uint32_t i = 1; i < profile->thread_count; i++)
        assert_int_equal(profile->threads[i].values.count, 1);
    dw_profile_free(profile);
    unlink(path);
}

/* A stack goes through a task as a mark; the innermost one is the label. */
static void test_samples_have_their_task_as_a_label(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_new();
    uint32_t thread = fixture_thread(profile, fixture_process(profile, 7, 0), 1, "thread");
    profile->processes[0].is_sampled = true;
    dw_path_id loop = fixture_child(profile, DW_PATH_ROOT, DW_FRAME_FUNCTION, "run", 3);
    dw_path_id outer = fixture_child(profile, loop, DW_FRAME_MARK, "task outer", 10);
    dw_path_id inner = fixture_child(profile, outer, DW_FRAME_MARK, "task inner", 10);
    dw_path_id leaf = fixture_child(profile, inner, DW_FRAME_FUNCTION, "task work", 9);
    fixture_sample(profile, thread, loop, DW_SAMPLE_PYTHON, 1, 10);
    fixture_sample(profile, thread, outer, DW_SAMPLE_PYTHON, 2, 20);
    fixture_sample(profile, thread, leaf, DW_SAMPLE_PYTHON, 3, 30);
    fixture_prepare(profile);
    static const char *const expected[] = {"", "outer", "inner"};
    const struct dw_value_table *values = &profile->threads[thread].values;
    dw_string_id key;
    assert_int_equal(dw_string_intern(&profile->strings, "task", 4, &key), 0);
    assert_int_equal(values->count, 3);
    for (uint32_t i = 0; i < values->count; i++) {
        dw_string_id task = dw_labels_value(&profile->labels, values->rows[i].labels, key);
        assert_string_equal(dw_profile_string(profile, task).bytes, expected[i]);
        assert_int_equal(dw_value_get(values, &values->rows[i], DW_SAMPLES), i + 1);
    }
    dw_profile_free(profile);
}

/* A file with a function that samples meet so often, each time in another line or all in one. */
static const struct sampled_file {
    const char *name;
    uint32_t lines, samples;
    bool is_kept;
} sampled_files[] = {
    {"own.py", 1, 1, true},
    {"lib/python3.13/rarely.py", 1, DW_SOURCE_ENOUGH - 1, false},
    {"lib/python3.13/in_a_loop.py", 1, DW_SOURCE_ENOUGH, true},
    {"lib/python3.13/everywhere.py", DW_SOURCE_ENOUGH, 1, true},
    {"lib/python3.13/also_called.py", 0, 0, true},
};
#define SAMPLED_FILES (sizeof sampled_files / sizeof *sampled_files)

static void sample_file(struct recording *recording, const char *directory, size_t index)
{
    const struct sampled_file *sampled = &sampled_files[index];
    char file[100];
    snprintf(file, sizeof file, "%s/%s", directory, sampled->name);
    FILE *source = fopen(file, "w");
    assert_non_null(source);
    fputs("pass", source);
    fclose(source);
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION, .line = 1};
    struct dw_place place = {0};
    assert_int_equal(dw_ledger_string(recording->log, file, strlen(file), &frame.file), 0);
    assert_int_equal(dw_ledger_met_frame(recording->log, &frame, &place.frame), 0);
    if (!sampled->lines)
        assert_int_equal(dw_ledger_frame(recording->log, &frame, &place.frame), 0);
    for (place.line = 1; place.line <= sampled->lines; place.line++) {
        dw_place_id id = 0;
        assert_int_equal(dw_ledger_place(recording->log, &place, &id), 0);
        for (uint32_t i = 0; i < sampled->samples; i++)
            add(recording, stack_of(recording->log, 0, id), DW_SAMPLE_PYTHON, 1, 1);
    }
}

static bool has_source(const struct dw_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->source_count; i++)
        if (strstr(dw_profile_string(profile, profile->sources[i].file).bytes, name))
            return true;
    return false;
}

static void test_texts_of_libraries_are_kept_where_samples_were_often(void **state)
{
    (void)state;
    char directory[] = "/tmp/dwell-samples-XXXXXX", path[80], command[100];
    assert_non_null(mkdtemp(directory));
    snprintf(command, sizeof command, "mkdir -p %s/lib/python3.13", directory);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/x.dwell", directory);
    struct recording recording;
    start_in(&recording, path, false);
    for (size_t i = 0; i < SAMPLED_FILES; i++)
        sample_file(&recording, directory, i);
    assert_int_equal(flush_end(&recording), 0);
    dw_ledger_release(recording.log);
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(path, 0, profile), 0);
    for (size_t i = 0; i < SAMPLED_FILES; i++)
        assert_int_equal(has_source(profile, sampled_files[i].name), sampled_files[i].is_kept);
    dw_profile_free(profile);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_log_holds_the_samples),
        cmocka_unit_test(test_a_saved_profile_is_the_same),
        cmocka_unit_test(test_single_samples_have_their_time),
        cmocka_unit_test(test_paths_of_functions_have_inlined_ones),
        cmocka_unit_test(test_the_time_of_lines_is_split),
        cmocka_unit_test(test_recursion_counts_a_line_once),
        cmocka_unit_test(test_the_interpreter_is_hidden_with_what_works_for_it),
        cmocka_unit_test(test_samples_without_frames_are_marked),
        cmocka_unit_test(test_samples_have_their_task_as_a_label),
        cmocka_unit_test(test_damage_costs_only_itself),
        cmocka_unit_test(test_threads_that_ended_cost_no_memory),
        cmocka_unit_test(test_texts_of_libraries_are_kept_where_samples_were_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
