/* SPDX-License-Identifier: MIT
 * The ledger: one file for many probes, its threads, its children, its trouble. */
#define _GNU_SOURCE
#include "check.h"

#include "base/error.h"
#include "log/log_name.h"
#include "log/reader.h"
#include "record/ledger.h"
#include "record/probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static char directory[] = "/tmp/dwell-ledger-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/run.dwell", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static struct dw_ledger *open_ledger(const char *file)
{
    struct dw_ledger *ledger = NULL;
    assert_int_equal(dw_ledger_open(&(struct dw_ledger_options){.path = file}, &ledger), 0);
    return ledger;
}

static void close_ledger(struct dw_ledger *ledger)
{
    assert_int_equal(dw_ledger_stop(ledger), 0);
    dw_ledger_release(ledger);
}

static struct dw_profile *read_log(const char *file)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(file, 0, profile), 0);
    assert_int_equal(profile->losses.damaged_chunks, 0);
    return profile;
}

/* A probe that has one row, on a path of its own or on the root. */
struct told {
    const char *name; /* NULL: the root */
    enum dw_measure measure;
    uint64_t number, tid;
    bool is_entered;
    uint32_t thread;
};

static int tell(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct told *told = context;
    dw_place_id place;
    dw_path_id at = DW_PATH_ROOT;
    unsigned probe_bit = 1u << told->measure;
    if (!told->is_entered)
        assert_int_equal(dw_ledger_thread(ledger, probe_bit, told->tid, &told->thread), 0);
    told->is_entered = true;
    if (told->name) {
        struct dw_string name = {told->name, strlen(told->name)}, none = {"", 0};
        assert_int_equal(dw_ledger_named_place(ledger, DW_FRAME_BUILTIN, name, none, 0, &place), 0);
        assert_int_equal(dw_ledger_path(ledger, DW_PATH_ROOT, place, &at), 0);
    }
    dw_ledger_define(ledger, sink);
    dw_log_rows_begin(&sink->writer, dw_ledger_thread_id(ledger, told->thread));
    dw_log_rows_add(&sink->writer, at, DW_LABELS_NONE, DW_MASK(told->measure), &told->number, NULL);
    dw_log_rows_end(&sink->writer);
    return 0;
}

static const char *name_of(const struct dw_profile *profile, dw_path_id at)
{
    return dw_profile_string(profile, dw_profile_path_frame(profile, at)->name).bytes;
}

static uint64_t value_of(const struct dw_profile *profile, const char *name,
                         enum dw_measure measure)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++)
            if (!strcmp(name_of(profile, values->rows[i].path), name))
                sum += dw_value_get(values, &values->rows[i], measure);
    }
    return sum;
}

static void test_probes_with_one_file_share_a_ledger(void **state)
{
    (void)state;
    struct told calls = {.name = "load", .measure = DW_CALLS, .number = 3, .tid = 77};
    struct told cpu = {.name = "load", .measure = DW_CPU, .number = 5 * MS, .tid = 77};
    struct dw_ledger *first = open_ledger(path), *second = open_ledger(path);
    assert_ptr_equal(first, second);
    assert_int_equal(dw_ledger_flush(first, tell, &calls, false), 0);
    close_ledger(first);
    struct dw_profile *profile = read_log(path);
    assert_int_equal(profile->losses.cut_files, 1); /* the other one goes on */
    dw_profile_free(profile);
    assert_int_equal(dw_ledger_flush(second, tell, &cpu, false), 0);
    close_ledger(second);
    profile = read_log(path);
    assert_int_equal(profile->losses.cut_files, 0);
    assert_int_equal(profile->process_count, 1);
    assert_int_equal(profile->thread_count, 1);
    assert_int_equal(value_of(profile, "load", DW_CALLS), 3);
    assert_int_equal(value_of(profile, "load", DW_CPU), 5 * MS);
    dw_profile_free(profile);
}

static void test_a_file_has_one_ledger_by_any_name(void **state)
{
    (void)state;
    char link_path[80];
    snprintf(link_path, sizeof link_path, "%s/link.dwell", directory);
    struct dw_ledger *first = open_ledger(path);
    assert_int_equal(symlink(path, link_path), 0);
    struct dw_ledger *second = open_ledger(link_path);
    assert_ptr_equal(first, second);
    close_ledger(first);
    close_ledger(second);
    unlink(link_path);
}

static void test_a_file_begins_again_when_all_have_left(void **state)
{
    (void)state;
    struct told before = {.name = "before", .measure = DW_CALLS, .number = 1, .tid = 77},
                after = {.name = "after", .measure = DW_CALLS, .number = 2, .tid = 77};
    for (int i = 0; i < 2; i++) {
        struct dw_ledger *ledger = open_ledger(path);
        assert_int_equal(dw_ledger_flush(ledger, tell, i ? &after : &before, false), 0);
        close_ledger(ledger);
    }
    struct dw_profile *profile = read_log(path);
    assert_int_equal(value_of(profile, "before", DW_CALLS), 0);
    assert_int_equal(value_of(profile, "after", DW_CALLS), 2);
    dw_profile_free(profile);
}

static void test_what_probes_say_of_one_path_stands_side_by_side(void **state)
{
    (void)state;
    struct told count = {.name = NULL, .measure = DW_COUNT, .number = 1, .tid = 77},
                calls = {.name = NULL, .measure = DW_CALLS, .number = 4, .tid = 77};
    struct dw_ledger *ledger = open_ledger(path);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dw_ledger_flush(ledger, tell, &count, false), 0);
        assert_int_equal(dw_ledger_flush(ledger, tell, &calls, false), 0);
    }
    close_ledger(ledger);
    struct dw_profile *profile = read_log(path);
    assert_int_equal(value_of(profile, "<main>", DW_COUNT), 1);
    assert_int_equal(value_of(profile, "<main>", DW_CALLS), 4);
    dw_profile_free(profile);
}

static void test_threads_are_shared_while_they_live(void **state)
{
    (void)state;
    uint32_t regions, samples, again, next;
    struct dw_ledger *ledger = open_ledger(NULL);
    assert_int_equal(dw_ledger_thread(ledger, 1, 77, &regions), 0);
    assert_int_equal(dw_ledger_thread(ledger, 2, 77, &samples), 0);
    assert_int_equal(regions, samples);
    dw_ledger_end_thread(ledger, regions); /* one has seen it, the other not yet */
    assert_int_equal(dw_ledger_thread(ledger, 1, 77, &again), 0);
    assert_int_not_equal(again, regions);
    dw_ledger_leave_thread(ledger, 2, samples);
    assert_int_equal(dw_ledger_thread(ledger, 2, 77, &samples), 0);
    assert_int_equal(samples, again);
    uint32_t id = dw_ledger_thread_id(ledger, regions);
    dw_ledger_leave_thread(ledger, 1, regions);
    assert_int_equal(dw_ledger_thread(ledger, 1, 78, &next), 0);
    assert_int_equal(next, regions); /* nobody needs that place any more, */
    assert_int_not_equal(dw_ledger_thread_id(ledger, next), id); /* but it is another thread */
    close_ledger(ledger);
}

static struct dw_ledger *of_probe;
static struct told told_by_child = {.name = "child", .measure = DW_CALLS, .number = 2, .tid = 88};

static void flush_probe(void)
{
    dw_ledger_flush_end(of_probe, tell, &told_by_child);
}

static struct dw_probe probe = {.name = "test", .flush = flush_probe};

static int run_child(bool tells)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (tells)
            dw_probes_flush(false);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return (int)child;
}

static void test_a_child_that_tells_something_has_a_file_of_its_own(void **state)
{
    (void)state;
    char child_path[96];
    struct told parents = {.name = "parent", .measure = DW_CALLS, .number = 1, .tid = 77};
    dw_probe_add(&probe);
    of_probe = open_ledger(path);
    assert_int_equal(dw_ledger_flush(of_probe, tell, &parents, false), 0);
    strcpy(child_path, path);
    assert_int_equal(dw_log_name_child(child_path, sizeof child_path, dw_log_stem_size(path),
                                       run_child(false), 1),
                     0);
    assert_int_not_equal(access(child_path, F_OK), 0);
    dw_log_name_child(child_path, sizeof child_path, dw_log_stem_size(path), run_child(true), 1);
    struct dw_profile *profile = read_log(child_path);
    assert_int_equal(value_of(profile, "child", DW_CALLS), 2);
    assert_int_equal(value_of(profile, "parent", DW_CALLS), 0);
    assert_int_equal(profile->thread_count, 1);
    assert_int_equal(dw_profile_property(profile, 0, "parent").size, 32);
    dw_profile_free(profile);
    unlink(child_path);
    close_ledger(of_probe);
    profile = read_log(path);
    assert_int_equal(value_of(profile, "child", DW_CALLS), 0);
    dw_profile_free(profile);
}

static void test_trouble_with_the_file_is_told_once(void **state)
{
    (void)state;
    char text[1000] = "";
    struct told calls = {.name = "load", .measure = DW_CALLS, .number = 3, .tid = 77};
    FILE *file = tmpfile();
    assert_non_null(file);
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    struct dw_ledger *ledger = NULL;
    struct dw_ledger_options full = {.path = "/dev/full", .is_late = true};
    assert_int_equal(dw_ledger_open(&full, &ledger), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dw_ledger_flush(ledger, tell, &calls, false), DW_ERR_IO);
    assert_int_equal(dw_ledger_stop(ledger), DW_ERR_IO);
    dw_ledger_release(ledger);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "dwell: /dev/full: No space left on device; recording goes on "
                              "without the file\n");
}

static void test_names_of_logs_are_understood(void **state)
{
    (void)state;
    char name[32] = "run.dwell", mine[64];
    assert_int_equal(dw_log_stem_size(name), 3);
    assert_int_equal(dw_log_name_child(name, sizeof name, 3, 12, 1), 0);
    assert_string_equal(name, "run.12.dwell");
    assert_int_equal(dw_log_name_child(name, sizeof name, 3, 12, 2), 0);
    assert_string_equal(name, "run.12.2.dwell");
    assert_true(dw_log_is_of_child("run.12.2.dwell", "run", 3));
    assert_false(dw_log_is_of_child("run.dwell", "run", 3));
    assert_false(dw_log_is_of_child("run.12.html", "run", 3));
    assert_false(dw_log_is_of_child("running.12.dwell", "run", 3));
    assert_int_equal(dw_log_name_child(name, 8, 3, 12, 1), DW_ERR_IO);
    snprintf(mine, sizeof mine, "/tmp/run.%d.dwell", (int)getpid());
    assert_true(dw_log_is_made_up(mine));
    assert_false(dw_log_is_made_up("/tmp/run.dwell"));
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(test_probes_with_one_file_share_a_ledger),
        IN_DIRECTORY(test_a_file_has_one_ledger_by_any_name),
        IN_DIRECTORY(test_a_file_begins_again_when_all_have_left),
        IN_DIRECTORY(test_what_probes_say_of_one_path_stands_side_by_side),
        cmocka_unit_test(test_threads_are_shared_while_they_live),
        IN_DIRECTORY(test_a_child_that_tells_something_has_a_file_of_its_own),
        cmocka_unit_test(test_trouble_with_the_file_is_told_once),
        cmocka_unit_test(test_names_of_logs_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
