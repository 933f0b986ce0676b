/* SPDX-License-Identifier: MIT
 * Two streams of one file, as older versions wrote them, are one process, with all that either
 * measured, and damage to one costs the other nothing. */
#include "check.h"
#include "fixture.h"
#include "old_chunks.h"

#include "base/file.h"
#include "base/grow.h"
#include "log/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define PROGRAM_NS (20 * MS) /* on the wall clock, after FIXTURE_START_NS */
#define SAMPLE_NS (3 * MS)

static char path[] = "/tmp/dwell-streams-XXXXXX";

static struct dw_profile *read_path(int *error)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    *error = dw_log_read_file(path, DW_READ_EVENTS, profile);
    return profile;
}

static struct dw_process process_of(const struct dw_profile *profile, uint64_t first_tick)
{
    struct dw_process process = profile->processes[0];
    memset(process.uuid, 1, sizeof process.uuid);
    process.first_clock = (struct dw_clock_pair){first_tick, 7 * MS, FIXTURE_START_NS};
    return process;
}

/* Ticks of half a nanosecond, and one entry of `load`: 1 ms, from 2 ms on. */
static void write_regions(struct dw_log_writer *writer)
{
    struct dw_profile *profile = fixture_new();
    fixture_property(profile, fixture_process(profile, 41, 0), "python", "3.13");
    uint32_t thread = fixture_thread(profile, 0, 41, "MainThread");
    dw_path_id load = fixture_path(profile, "load");
    fixture_entry(profile, thread, load, 2 * MS);
    struct dw_process process = process_of(profile, 1000);
    struct dw_clock_pair last = {1000 + 2 * 10 * MS, 17 * MS, FIXTURE_START_NS + 10 * MS};
    fixture_write_main(profile, &process, last.tick, writer);
    uint8_t events[2 * DW_EVENT_MAX];
    uint8_t *end = dw_event_encode(events, 4 * MS, DW_EVENT_ENTER, load, 0);
    end = dw_event_encode(end, 2 * MS, DW_EVENT_EXIT, 0, 0);
    dw_log_write_events(writer, 0, 0, 1000, DW_PATH_ROOT, events, (size_t)(end - events));
    dw_log_write_clock(writer, 0, &last);
    dw_profile_free(profile);
}

/* The samples of the first thread. */
static struct dw_sample_sums sums_of(const struct dw_profile *profile)
{
    struct dw_sample_sums sums = {0};
    struct dw_sample sample;
    for (uint32_t at = 0; dw_profile_sample(profile, 0, &at, &sample);) {
        assert_int_equal(DW_GROW(sums.samples, sums.count, sums.capacity), 0);
        sums.samples[sums.count++] =
            (struct dw_sample_sum){sample.path, sample.state, sample.count, sample.weight};
    }
    return sums;
}

/* Ticks of a nanosecond; ids that mean something else than those of the regions. */
static void write_samples(struct dw_log_writer *writer)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    struct dw_process process = process_of(profile, 7 * MS);
    struct dw_clock_pair last = {7 * MS + PROGRAM_NS, 7 * MS + PROGRAM_NS,
                                 FIXTURE_START_NS + PROGRAM_NS};
    struct dw_sample_sums sums = sums_of(profile);
    struct dw_buffer timed = {0};
    dw_log_write_process(writer, 0, &process, &profile->strings);
    dw_log_write_strings(writer, &profile->strings, 0);
    dw_log_write_frames(writer, &profile->frames, 0);
    dw_log_write_places(writer, &profile->places, 0);
    dw_log_write_stacks(writer, &profile->paths, 0);
    dw_log_write_thread(writer, 0, 0, 42, (struct dw_string){"helper", 6});
    dw_log_write_thread(writer, 1, 0, 41, (struct dw_string){"MainThread", 10});
    dw_log_write_samples(writer, 1, &sums, NULL);
    dw_timed_sample_put(&timed, 0, sums.samples[0].stack, 0, MS);
    dw_log_write_timed_samples(writer, 1, 7 * MS + SAMPLE_NS, &timed);
    dw_log_write_sampling(writer, 0, &profile->processes[0].sampling);
    dw_log_write_clock(writer, 0, &last);
    dw_buffer_release(&timed);
    free(sums.samples);
    dw_profile_free(profile);
}

/* The second one writes as older versions did: a stream of its own in the file of the first. */
static void open_both(struct dw_log_writer writers[2])
{
    assert_int_equal(dw_log_writer_create(&writers[0], path), 0);
    assert_int_equal(dw_log_writer_init(&writers[1], -1), 0);
    writers[1].fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(writers[1].fd >= 0);
    writers[1].device = writers[0].device;
    writers[1].inode = writers[0].inode;
    writers[1].stream = 1;
}

static void close_both(struct dw_log_writer writers[2])
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(writers[i].error, 0);
        assert_int_equal(dw_log_writer_close(&writers[i]), 0);
        dw_log_writer_release(&writers[i]);
    }
}

/* `samples_first`: which of the two begins the file. */
static void write_both(bool samples_first, bool ended)
{
    struct dw_log_writer writers[2];
    open_both(writers);
    write_samples(&writers[!samples_first]);
    write_regions(&writers[samples_first]);
    for (int i = 0; i < 2 && ended; i++)
        dw_log_write_end(&writers[i], 0, 1, i == 1);
    close_both(writers);
}

static uint32_t main_thread(const struct dw_profile *profile)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        if (profile->threads[i].tid != 41)
            continue;
        assert_int_equal(found, UINT32_MAX);
        found = i;
    }
    assert_int_not_equal(found, UINT32_MAX);
    return found;
}

static void check_both(struct dw_profile *profile)
{
    const struct dw_process *process = &profile->processes[0];
    const struct dw_thread *thread = &profile->threads[main_thread(profile)];
    assert_int_equal(profile->process_count, 1);
    assert_int_equal(profile->thread_count, 2);
    assert_int_equal(dw_process_duration_ns(process), PROGRAM_NS);
    assert_true(process->is_sampled);
    assert_string_equal(dw_profile_property(profile, 0, "python").bytes, "3.13");
    dw_path_id load = fixture_path(profile, "load");
    assert_int_equal(fixture_value(profile, main_thread(profile), load, DW_COUNT), 1);
    assert_int_equal(fixture_value(profile, main_thread(profile), load, DW_TOTAL), MS);
    assert_true(dw_thread_is_sampled(thread));
    assert_int_equal(thread->timed_count, 1);
    assert_int_equal(thread->timed[0].time_ns, FIXTURE_START_NS + SAMPLE_NS);
    assert_int_equal(thread->block_count, 1);
    struct dw_event_reader reader;
    struct dw_event event;
    assert_int_equal(dw_event_reader_init(&reader, profile, &profile->blocks[0]), 0);
    assert_true(dw_event_next(&reader, &event));
    assert_int_equal(event.time_ns, FIXTURE_START_NS + 2 * MS);
    assert_int_equal(event.path, profile->function_of ? profile->function_of[load] : load);
    assert_true(dw_event_next(&reader, &event));
    assert_int_equal(event.time_ns, FIXTURE_START_NS + 3 * MS);
    dw_event_reader_release(&reader);
}

static void test_either_may_begin_the_file(void **state)
{
    (void)state;
    for (int samples_first = 0; samples_first < 2; samples_first++) {
        int error;
        write_both(samples_first, true);
        struct dw_profile *profile = read_path(&error);
        assert_int_equal(error, 0);
        check_both(profile);
        assert_true(profile->processes[0].ended);
        assert_int_equal(profile->processes[0].dropped, 2);
        assert_true(profile->processes[0].is_reported);
        assert_int_equal(profile->losses.cut_files, 0);
        dw_profile_free(profile);
    }
}

static void test_a_joined_profile_is_saved_whole(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    int error;
    write_both(true, true);
    struct dw_profile *profile = read_path(&error);
    fixture_save(profile, &writer);
    struct dw_profile *again = fixture_load(writer.memory.data, writer.memory.size);
    check_both(again);
    dw_log_writer_release(&writer);
    dw_profile_free(profile);
    dw_profile_free(again);
}

static void test_the_process_ended_when_both_did(void **state)
{
    (void)state;
    struct dw_log_writer writers[2];
    int error;
    open_both(writers);
    write_samples(&writers[0]);
    write_regions(&writers[1]);
    dw_log_write_end(&writers[1], 0, 0, false);
    close_both(writers);
    struct dw_profile *profile = read_path(&error);
    assert_int_equal(error, 0);
    assert_false(profile->processes[0].ended);
    assert_int_equal(profile->losses.cut_files, 1);
    dw_profile_free(profile);
}

/* Cut anywhere, or with any chunk torn out, the rest reads, and as one process once both have
 * described it. */
static void test_any_cut_leaves_the_rest(void **state)
{
    (void)state;
    struct dw_file file;
    struct dw_chunk chunk;
    write_both(true, true);
    assert_int_equal(dw_file_open(path, &file), 0);
    for (size_t size = DW_LOG_HEADER_SIZE + 1; size < file.size; size += 7) {
        struct dw_profile *profile;
        assert_int_equal(dw_profile_new(&profile), 0);
        if (!dw_log_read(file.data, size, DW_READ_EVENTS, profile))
            assert_int_equal(profile->process_count, 1);
        dw_profile_free(profile);
    }
    struct dw_chunk_walk walk = {.bytes = file.data, .size = file.size, .at = DW_LOG_HEADER_SIZE};
    while (dw_chunk_next(&walk, &chunk)) {
        size_t whole = chunk.stored_size + (size_t)DW_CHUNK_HEADER_SIZE;
        uint8_t *rest = malloc(file.size);
        struct dw_profile *profile;
        memcpy(rest, file.data, walk.at - whole);
        memcpy(rest + walk.at - whole, file.data + walk.at, file.size - walk.at);
        assert_int_equal(dw_profile_new(&profile), 0);
        assert_int_equal(dw_log_read(rest, file.size - whole, DW_READ_EVENTS, profile), 0);
        assert_true(dw_profile_measures(profile) & DW_SAMPLE_MASK ||
                    chunk.type == DW_CHUNK_SAMPLES);
        dw_profile_free(profile);
        free(rest);
    }
    dw_file_close(&file);
}

/* One profile shows either; unless it is told which, the samples. */
static void test_samples_and_regions_are_shown_side_by_side(void **state)
{
    (void)state;
    int error;
    write_both(true, true);
    struct dw_profile *profile = read_path(&error);
    const struct dw_lens_options samples = {.family = DW_FAMILY_SAMPLES},
                                 regions = {.family = DW_FAMILY_REGIONS};
    char *of_samples = fixture_show(profile, "csv", &samples, NULL);
    char *of_regions = fixture_show(profile, "csv", &regions, NULL);
    char *of_any = fixture_show(profile, "csv", NULL, NULL);
    assert_non_null(strstr(of_samples, "work"));
    assert_null(strstr(of_samples, "load"));
    assert_non_null(strstr(of_regions, "load,0,<main>,1000"));
    assert_null(strstr(of_regions, "work"));
    assert_string_equal(of_any, of_samples);
    free(of_samples);
    free(of_regions);
    free(of_any);
    dw_profile_free(profile);
}

/* What is prepared for showing keeps the times of regions as they are, and events name them. */
static void test_samples_are_not_added_to_regions(void **state)
{
    (void)state;
    int error;
    write_both(true, true);
    struct dw_profile *profile = read_path(&error);
    fixture_prepare(profile);
    check_both(profile);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_either_may_begin_the_file),
        cmocka_unit_test(test_a_joined_profile_is_saved_whole),
        cmocka_unit_test(test_the_process_ended_when_both_did),
        cmocka_unit_test(test_any_cut_leaves_the_rest),
        cmocka_unit_test(test_samples_and_regions_are_shown_side_by_side),
        cmocka_unit_test(test_samples_are_not_added_to_regions),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
