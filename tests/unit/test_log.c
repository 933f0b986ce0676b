/* SPDX-License-Identifier: MIT
 * A log comes back as it was written, and any damage costs no more than itself. */
#include "check.h"
#include "fixture.h"
#include "old_chunks.h"

#include "base/error.h"
#include "base/file.h"
#include "log/chunk.h"
#include "log/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* A log as a recorder writes it: ticks of half a nanosecond, two blocks of events. */
static void write_log(struct dw_log_writer *writer, bool ended)
{
    struct dw_profile *profile = fixture_small();
    struct dw_process process = profile->processes[0];
    struct dw_clock_pair later = {2000000, 1000000, FIXTURE_START_NS + 1000000};
    process.first_clock = (struct dw_clock_pair){0, 0, FIXTURE_START_NS};
    assert_int_equal(dw_log_writer_init(writer, -1), 0);
    fixture_write_main(profile, &process, later.tick, writer);
    uint8_t events[2 * DW_EVENT_MAX];
    uint8_t *end = dw_event_encode(events, 100, DW_EVENT_ENTER, fixture_path(profile, "load"), 0);
    end = dw_event_encode(end, 200, DW_EVENT_EXIT, 0, 0);
    dw_log_write_events(writer, 0, 0, 1000, DW_PATH_ROOT, events, (size_t)(end - events));
    dw_log_write_events(writer, 0, 1, 2000, DW_PATH_ROOT, events, (size_t)(end - events));
    dw_log_write_source(writer, (struct dw_string){"a.py", 4}, (struct dw_string){"x = 1\n", 6});
    fixture_line(profile, fixture_function(profile, "a.py", 1, "f"), 2, 3, 400);
    dw_log_write_lines(writer, 0, &profile->lines, 0);
    dw_log_write_clock(writer, 0, &later);
    if (ended)
        dw_log_write_end(writer, 0, 3, true);
    assert_int_equal(writer->error, 0);
    dw_profile_free(profile);
}

static struct dw_profile *read_log(const uint8_t *bytes, size_t size, int *error)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    *error = dw_log_read(bytes, size, DW_READ_EVENTS, profile);
    return profile;
}

static void test_comes_back(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    const struct dw_process *process = &profile->processes[0];
    assert_int_equal(profile->process_count, 1);
    assert_int_equal(process->pid, 41);
    assert_true(process->ended);
    assert_int_equal(process->dropped, 3);
    assert_true(process->is_reported);
    assert_int_equal(dw_process_duration_ns(process), 1000000);
    assert_string_equal(dw_profile_property(profile, 0, "host").bytes, "node7");
    assert_string_equal(dw_profile_property(profile, 0, "none").bytes, "");
    assert_int_equal(profile->thread_count, 1);
    assert_int_equal(profile->source_count, 1);
    assert_string_equal(dw_profile_string(profile, profile->sources[0].text).bytes, "x = 1\n");
    assert_int_equal(profile->losses.damaged_chunks, 0);
    assert_int_equal(profile->losses.cut_files, 0);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

/* Times are halved by the clock's rate; counters are not times. */
static void test_ticks_become_nanoseconds(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    dw_path_id load = fixture_path(profile, "load");
    dw_path_id bytes = fixture_child(profile, load, DW_FRAME_COUNTER, "bytes", 5);
    const struct dw_metric metric = fixture_metric(profile, 0, load);
    assert_int_equal(metric.total, 3000000);
    assert_int_equal(metric.min, 1000000);
    assert_int_equal(metric.max, 2000000);
    assert_int_equal(metric.count, 2);
    assert_in_range(dw_metric_quantile(&metric, 1.0), 1950000, 2000000);
    assert_true(dw_metric_stdev(&metric) > 499000 && dw_metric_stdev(&metric) < 501000);
    assert_int_equal(fixture_value(profile, 0, bytes, DW_TOTAL), 300);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

static void test_events_come_back(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    struct dw_event_reader reader;
    struct dw_event event;
    assert_int_equal(profile->block_count, 2);
    assert_int_equal(dw_event_reader_init(&reader, profile, &profile->blocks[1]), 0);
    assert_true(dw_event_next(&reader, &event));
    assert_int_equal(event.kind, DW_EVENT_ENTER);
    assert_true(event.time_ns == FIXTURE_START_NS + 1050);
    assert_int_equal(event.path, fixture_path(profile, "load"));
    assert_true(dw_event_next(&reader, &event));
    assert_int_equal(event.kind, DW_EVENT_EXIT);
    assert_true(event.time_ns == FIXTURE_START_NS + 1150);
    assert_false(dw_event_next(&reader, &event));
    dw_event_reader_release(&reader);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

/* Rows are absolute within a log and add up over logs. */
static void test_lines_add_up(void **state)
{
    (void)state;
    struct dw_profile *sum;
    assert_int_equal(dw_profile_new(&sum), 0);
    for (uint8_t log = 1; log <= 2; log++) {
        struct dw_log_writer writer;
        struct dw_profile *profile = fixture_small();
        dw_frame_id f = fixture_function(profile, "a.py", 3, "f");
        profile->processes[0].uuid[0] = log;
        fixture_line(profile, f, 4, 7, 1000);
        fixture_save(profile, &writer);
        fixture_line(profile, f, 4, 8, 1500);
        dw_log_write_lines(&writer, 0, &profile->lines, 0);
        assert_int_equal(dw_log_read(writer.memory.data, writer.memory.size, 0, sum), 0);
        dw_log_writer_release(&writer);
        dw_profile_free(profile);
    }
    assert_int_equal(sum->lines.count, 1);
    assert_int_equal(sum->lines.lines[0].values[DW_LINE_HITS], 16);
    assert_int_equal(sum->lines.lines[0].values[DW_LINE_TIME], 3000);
    dw_profile_free(sum);
}

/* Rows of older versions do not say that they are of calls; the frames of their paths do. */
static void test_calls_of_older_versions(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_profile *written = fixture_new();
    fixture_process(written, 41, 0);
    dw_frame_id main = fixture_function(written, "a.py", 1, "main");
    dw_path_id path = fixture_step(written, DW_PATH_ROOT, (struct dw_place){.frame = main});
    fixture_thread(written, 0, 41, "MainThread");
    const struct dw_metric metric = {.count = 3, .total = 90, .suspended = 5, .children = 40},
                           root = {.children = 90};
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    fixture_write_main(written, &written->processes[0], 0, &writer);
    dw_log_values_begin(&writer, 0);
    dw_log_values_add(&writer, DW_PATH_ROOT, &root, 0);
    dw_log_values_add(&writer, path, &metric, 0);
    dw_log_values_end(&writer);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    const struct dw_value_table *values = &profile->threads[0].values;
    assert_int_equal(values->mask, DW_CALL_MASK);
    assert_int_equal(dw_value_get(values, &values->rows[0], DW_CALL_CHILDREN), 90);
    assert_int_equal(dw_value_get(values, &values->rows[1], DW_CALLS), 3);
    assert_int_equal(dw_value_get(values, &values->rows[1], DW_CALL_TOTAL), 90);
    assert_int_equal(dw_value_get(values, &values->rows[1], DW_CALL_SUSPENDED), 5);
    assert_int_equal(dw_value_get(values, &values->rows[1], DW_CALL_CHILDREN), 40);
    dw_log_writer_release(&writer);
    dw_profile_free(written);
    dw_profile_free(profile);
}

static void test_unclosed_log_says_so(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, false);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    assert_int_equal(profile->losses.cut_files, 1);
    assert_false(profile->processes[0].ended);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

/* Cut anywhere, the log gives all that lies whole before the cut. */
static void test_truncated_at_every_byte(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    size_t size = writer.memory.size;
    uint32_t rows = 0;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *bytes = malloc(cut ? cut : 1); /* exactly sized, for the sanitizer */
        int error;
        memcpy(bytes, writer.memory.data, cut);
        struct dw_profile *profile = read_log(bytes, cut, &error);
        assert_true(error == 0 || error == DW_ERR_EMPTY || error == DW_ERR_NOT_DWELL ||
                    error == DW_ERR_DAMAGED);
        assert_true((error == DW_ERR_EMPTY) == (cut == 0));
        uint32_t held = profile->thread_count ? profile->threads[0].values.count : 0;
        assert_true(held >= rows);
        rows = held;
        if (!error)
            assert_int_equal(profile->losses.cut_files, 1);
        dw_profile_free(profile);
        free(bytes);
    }
    assert_int_equal(rows, 4);
    dw_log_writer_release(&writer);
}

/* Any changed byte is noticed, and costs the one chunk that it is in. */
static void test_every_byte_flipped(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    uint8_t *bytes = writer.memory.data;
    for (size_t i = 0; i < writer.memory.size; i++) {
        int error;
        bytes[i] ^= 0x40;
        struct dw_profile *profile = read_log(bytes, writer.memory.size, &error);
        if (i >= DW_LOG_HEADER_SIZE) {
            assert_int_equal(error, 0);
            assert_int_equal(profile->losses.damaged_chunks, 1);
            assert_in_range(profile->losses.damaged_bytes, DW_CHUNK_HEADER_SIZE, 400);
        } else {
            assert_int_equal(error, 0);
            assert_int_equal(profile->threads[0].values.count, 4);
        }
        dw_profile_free(profile);
        bytes[i] ^= 0x40;
    }
    dw_log_writer_release(&writer);
}

static void test_rubbish_between_chunks(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    write_log(&writer, true);
    struct dw_buffer bytes = {0};
    int error;
    dw_buffer_append(&bytes, writer.memory.data, DW_LOG_HEADER_SIZE);
    dw_buffer_append(&bytes, "DWCKDWCKrubbish", 15);
    dw_buffer_append(&bytes, writer.memory.data + DW_LOG_HEADER_SIZE,
                     writer.memory.size - DW_LOG_HEADER_SIZE);
    struct dw_profile *profile = read_log(bytes.data, bytes.size, &error);
    assert_int_equal(error, 0);
    assert_int_equal(profile->losses.damaged_chunks, 1);
    assert_int_equal(profile->losses.damaged_bytes, 15);
    assert_int_equal(profile->threads[0].values.count, 4);
    dw_profile_free(profile);
    dw_buffer_release(&bytes);
    dw_log_writer_release(&writer);
}

/* What follows is found by its chunks, and the file is known for a log again. */
static void test_file_cut_to_nothing_meanwhile(void **state)
{
    (void)state;
    char path[] = "/tmp/dwell-test-XXXXXX";
    struct dw_log_writer writer;
    struct dw_profile *profile;
    struct dw_file file;
    close(mkstemp(path));
    assert_int_equal(dw_log_writer_create(&writer, path), 0);
    dw_log_write_source(&writer, (struct dw_string){"a.py", 4}, (struct dw_string){"x\n", 2});
    assert_int_equal(truncate(path, 0), 0);
    dw_log_write_source(&writer, (struct dw_string){"b.py", 4}, (struct dw_string){"y\n", 2});
    dw_log_write_end(&writer, 0, 0, false);
    assert_int_equal(dw_log_writer_close(&writer), 0);
    dw_log_writer_release(&writer);
    assert_true(dw_log_may_replace(path));
    assert_int_equal(dw_file_open(path, &file), 0);
    assert_memory_equal(file.data, DW_LOG_MAGIC, DW_LOG_MAGIC_SIZE);
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read(file.data, file.size, 0, profile), 0);
    assert_int_equal(profile->source_count, 1);
    assert_int_equal(profile->losses.damaged_chunks, 0);
    dw_profile_free(profile);
    dw_file_close(&file);
    unlink(path);
}

/* Neither the header nor the first chunk is needed. */
static void test_beginning_is_lost(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    int error;
    write_log(&writer, true);
    memset(writer.memory.data, 0xaa, 40);
    struct dw_profile *profile = read_log(writer.memory.data, writer.memory.size, &error);
    assert_int_equal(error, 0);
    assert_int_equal(profile->losses.damaged_chunks, 1);
    assert_int_equal(profile->threads[0].values.count, 4);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

static void test_same_log_twice_is_refused(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    int error;
    write_log(&writer, true);
    struct dw_profile *profile = read_log(writer.memory.data, writer.memory.size, &error);
    assert_int_equal(error, 0);
    assert_int_equal(dw_log_read(writer.memory.data, writer.memory.size, 0, profile),
                     DW_ERR_DUPLICATE);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

static void test_strangers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int error;
    } cases[] = {{"", 0, DW_ERR_EMPTY},
                 {"x", 1, DW_ERR_NOT_DWELL},
                 {"\x89PNG\r\n\x1a\n", 8, DW_ERR_NOT_DWELL},
                 {"#!/bin/sh\necho this is no log at all\n", 36, DW_ERR_NOT_DWELL},
                 {DW_LOG_MAGIC, 8, DW_ERR_DAMAGED}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int error;
        struct dw_profile *profile =
            read_log((const uint8_t *)cases[i].bytes, cases[i].size, &error);
        assert_int_equal(error, cases[i].error);
        dw_profile_free(profile);
    }
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void test_newer_version_is_refused(void **state)
{
    (void)state;
    uint8_t header[DW_LOG_HEADER_SIZE];
    int error;
    dw_log_header_put(header);
    header[8] = DW_LOG_VERSION + 1;
    uint32_t crc = crc_of(header, 12);
    for (int i = 0; i < 4; i++)
        header[12 + i] = (uint8_t)(crc >> 8 * i);
    struct dw_profile *profile = read_log(header, sizeof header, &error);
    assert_int_equal(error, DW_ERR_VERSION);
    dw_profile_free(profile);
}

/* A chunk with a right checksum around the payload, whatever it says. */
static void append_chunk(struct dw_buffer *log, uint16_t type, uint32_t raw_size,
                         const uint8_t *payload, size_t size)
{
    uint8_t stored[512], header[DW_CHUNK_HEADER_SIZE];
    size_t packed = ZSTD_compress(stored, sizeof stored, payload, size, 1);
    assert_false(ZSTD_isError(packed));
    struct dw_chunk chunk = {
        .type = type, .raw_size = raw_size, .stored_size = (uint32_t)packed, .stored = stored};
    dw_chunk_put(header, &chunk);
    dw_buffer_append(log, header, sizeof header);
    dw_buffer_append(log, stored, packed);
}

static void test_what_is_said_of_a_process_later(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_profile *words = fixture_new();
    fixture_process(words, 41, 0);
    fixture_property(words, 0, "host", "node8");
    fixture_property(words, 0, "name", "worker 1");
    write_log(&writer, true);
    dw_log_write_properties(&writer, 0, &words->processes[0], &words->strings);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    assert_int_equal(profile->process_count, 1);
    assert_string_equal(dw_profile_property(profile, 0, "host").bytes, "node8");
    assert_string_equal(dw_profile_property(profile, 0, "name").bytes, "worker 1");
    dw_profile_free(profile);
    dw_profile_free(words);
    dw_log_writer_release(&writer);
}

static void test_hostile_numbers(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, 1u << 23, UINT32_MAX, (uint64_t)1 << 40, UINT64_MAX};
    for (uint16_t type = 0; type <= DW_CHUNK_PROPERTIES + 2; type++) {
        for (size_t i = 0; i < COUNT_OF(numbers); i++) {
            struct dw_log_writer writer;
            struct dw_buffer payload = {0};
            int error;
            write_log(&writer, true);
            for (int n = 0; n < 20; n++)
                dw_buffer_put(&payload, numbers[i]);
            append_chunk(&writer.memory, type, (uint32_t)payload.size, payload.data, payload.size);
            struct dw_profile *profile = read_log(writer.memory.data, writer.memory.size, &error);
            assert_true(error == 0 || error == DW_ERR_TOO_LARGE);
            assert_int_equal(profile->processes[0].pid, 41);
            dw_profile_free(profile);
            dw_buffer_release(&payload);
            dw_log_writer_release(&writer);
        }
    }
}

static void test_oversized_chunk_is_skipped(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    int error;
    write_log(&writer, true);
    append_chunk(&writer.memory, DW_CHUNK_STRINGS, DW_CHUNK_RAW_MAX + 1, (const uint8_t *)"", 0);
    struct dw_profile *profile = read_log(writer.memory.data, writer.memory.size, &error);
    assert_int_equal(error, 0);
    assert_int_equal(profile->losses.damaged_chunks, 1);
    dw_profile_free(profile);
    dw_log_writer_release(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_ticks_become_nanoseconds),
        cmocka_unit_test(test_events_come_back),
        cmocka_unit_test(test_lines_add_up),
        cmocka_unit_test(test_calls_of_older_versions),
        cmocka_unit_test(test_unclosed_log_says_so),
        cmocka_unit_test(test_truncated_at_every_byte),
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_rubbish_between_chunks),
        cmocka_unit_test(test_same_log_twice_is_refused),
        cmocka_unit_test(test_file_cut_to_nothing_meanwhile),
        cmocka_unit_test(test_beginning_is_lost),
        cmocka_unit_test(test_strangers_are_refused),
        cmocka_unit_test(test_newer_version_is_refused),
        cmocka_unit_test(test_what_is_said_of_a_process_later),
        cmocka_unit_test(test_hostile_numbers),
        cmocka_unit_test(test_oversized_chunk_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
