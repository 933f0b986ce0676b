/* SPDX-License-Identifier: MIT
 * The recorder under load: threads that enter regions while the log is flushed and
 * snapshots are taken. Built with the thread sanitizer too. */
#define _GNU_SOURCE
#include "check.h"

#include "dwell.h"
#include "log/reader.h"
#include "record/recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 5000
#define RECORDINGS 2000

static char log_file[64];
static dw_region_id outer, inner;
static _Atomic int running;

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        dw_region_entry first = dw_region_enter(outer);
        for (int j = 0; j < 3; j++)
            dw_region_exit(dw_region_enter(inner));
        dw_count("rounds", 1);
        dw_region_exit(first);
    }
    running--;
    return NULL;
}

static struct dw_profile *read_log(const char *path)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(path, DW_READ_EVENTS, profile), 0);
    return profile;
}

/* Entries of all threads, for the paths that end in `name`. */
static uint64_t count_of(const struct dw_profile *profile, const char *name)
{
    uint64_t count = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++) {
            dw_string_id of = dw_profile_path_frame(profile, values->rows[i].path)->name;
            if (!strcmp(dw_profile_string(profile, of).bytes, name))
                count += dw_value_get(values, &values->rows[i], DW_COUNT);
        }
    }
    return count;
}

static void count_events(const struct dw_profile *profile, uint64_t counts[8])
{
    for (uint32_t i = 0; i < profile->block_count; i++) {
        struct dw_event_reader reader;
        struct dw_event event;
        assert_int_equal(dw_event_reader_init(&reader, profile, &profile->blocks[i]), 0);
        while (dw_event_next(&reader, &event))
            counts[event.kind]++;
        dw_event_reader_release(&reader);
    }
}

static int make_names(void **state)
{
    (void)state;
    snprintf(log_file, sizeof log_file, "test_recorder.%d.dwell", (int)getpid());
    outer = dw_region_register("outer");
    inner = dw_region_register("inner");
    return 0;
}

static int remove_log(void **state)
{
    (void)state;
    return unlink(log_file);
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    running = THREADS;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    while (running) {
        struct dw_log_writer snapshot;
        assert_int_equal(dw_recorder_snapshot(&snapshot), 0);
        dw_log_writer_release(&snapshot);
        dw_recorder_flush();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void everything_is_counted_while_it_is_flushed(void **state)
{
    (void)state;
    uint64_t events[8] = {0};
    assert_int_equal(dw_record_start(log_file, DW_RECORD_TIMELINE), 0);
    run_threads();
    assert_int_equal(dw_record_stop(), 0);
    struct dw_profile *profile = read_log(log_file);
    assert_int_equal(profile->losses.damaged_chunks, 0);
    assert_int_equal(count_of(profile, "outer"), THREADS * ROUNDS);
    assert_int_equal(count_of(profile, "inner"), THREADS * ROUNDS * 3);
    assert_int_equal(count_of(profile, "rounds"), THREADS * ROUNDS);
    count_events(profile, events);
    assert_int_equal(events[DW_EVENT_ENTER], THREADS * ROUNDS * 4);
    assert_int_equal(events[DW_EVENT_EXIT], THREADS * ROUNDS * 4);
    assert_int_equal(events[DW_EVENT_COUNTER], THREADS * ROUNDS);
    dw_profile_free(profile);
}

static void blocks_of_a_thread_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(dw_record_start(log_file, DW_RECORD_TIMELINE), 0);
    run_threads();
    assert_int_equal(dw_record_stop(), 0);
    struct dw_profile *profile = read_log(log_file);
    uint32_t *next = calloc(profile->thread_count, sizeof *next);
    assert_non_null(next);
    for (uint32_t i = 0; i < profile->block_count; i++)
        assert_int_equal(profile->blocks[i].sequence, next[profile->blocks[i].thread]++);
    free(next);
    dw_profile_free(profile);
}

static void regions_cost_nothing_when_off(void **state)
{
    (void)state;
    dw_region_entry entry = dw_region_enter(outer);
    assert_null(entry.span);
    dw_region_exit(entry);
    assert_int_equal(dw_record_start(log_file, 0), 0);
    assert_int_equal(dw_record_stop(), 0);
}

static void a_child_has_a_log_of_its_own(void **state)
{
    (void)state;
    char child_file[96];
    assert_int_equal(dw_record_start(log_file, 0), 0);
    dw_region_entry entry = dw_region_enter(outer);
    pid_t child = fork();
    if (child == 0) {
        dw_region_exit(dw_region_enter(inner));
        dw_region_exit(entry);
        _exit(dw_record_stop() ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    dw_region_exit(entry);
    assert_int_equal(dw_record_stop(), 0);
    struct dw_profile *profile = read_log(log_file);
    assert_int_equal(count_of(profile, "outer"), 1);
    assert_int_equal(count_of(profile, "inner"), 0);
    dw_profile_free(profile);
    snprintf(child_file, sizeof child_file, "%.*s.%d.dwell", (int)strlen(log_file) - 6, log_file,
             (int)child);
    profile = read_log(child_file);
    assert_int_equal(count_of(profile, "outer"), 1);
    assert_int_equal(count_of(profile, "inner"), 1);
    dw_profile_free(profile);
    unlink(child_file);
}

static void *enter_for_ever(void *unused)
{
    (void)unused;
    while (running)
        dw_region_exit(dw_region_enter(outer));
    return NULL;
}

static void *show_for_ever(void *unused)
{
    (void)unused;
    while (running) {
        struct dw_log_writer log;
        dw_recorder_snapshot(&log);
        dw_log_writer_release(&log);
    }
    return NULL;
}

/* Threads of C code know no GIL that would make them wait. */
static void threads_go_on_while_recordings_change(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    running = 1;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i ? enter_for_ever : show_for_ever, NULL), 0);
    for (int i = 0; i < RECORDINGS; i++) {
        assert_int_equal(dw_record_start(NULL, 0), 0);
        dw_region_exit(dw_region_enter(inner));
        assert_int_equal(dw_record_stop(), 0);
    }
    running = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct dw_log_writer log;
    assert_int_equal(dw_recorder_snapshot(&log), 0);
    dw_log_writer_release(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_is_counted_while_it_is_flushed, make_names,
                                        remove_log),
        cmocka_unit_test_setup_teardown(blocks_of_a_thread_follow_each_other, make_names,
                                        remove_log),
        cmocka_unit_test_setup_teardown(regions_cost_nothing_when_off, make_names, remove_log),
        cmocka_unit_test_setup_teardown(a_child_has_a_log_of_its_own, make_names, remove_log),
        cmocka_unit_test_setup(threads_go_on_while_recordings_change, make_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
