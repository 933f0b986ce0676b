/* SPDX-License-Identifier: MIT
 * Rows of values in a log say by themselves what they are of; damage to them costs no more than
 * itself. */
#include "check.h"
#include "fixture.h"
#include "old_chunks.h"

#include "log/reader.h"
#include "log/writing.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* What a chunk is made of, in its order. */
struct item {
    const char *text; /* NULL: a number */
    uint64_t number;
};
#define N(value)                                                                                   \
    {                                                                                              \
        NULL, value                                                                                \
    }
#define T(value)                                                                                   \
    {                                                                                              \
        value, 0                                                                                   \
    }
#define ITEMS(...) (const struct item[]){__VA_ARGS__}, COUNT_OF(((struct item[]){__VA_ARGS__}))

static void write_chunk(struct dw_log_writer *writer, enum dw_chunk_type type,
                        const struct item *items, size_t count)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    for (size_t i = 0; i < count; i++)
        if (items[i].text)
            dw_buffer_put_blob(payload, items[i].text, strlen(items[i].text));
        else
            dw_buffer_put(payload, items[i].number);
    dw_log_chunk_write(writer, type);
    assert_int_equal(writer->error, 0);
}

/* A process whose ticks are half a nanosecond, a thread, and as paths 1 and 2 "load" and
 * "load/parse". */
static void begin(struct dw_log_writer *writer)
{
    struct dw_profile *profile = fixture_new();
    fixture_process(profile, 41, 0);
    fixture_path(profile, "load/parse");
    struct dw_process process = profile->processes[0];
    struct dw_clock_pair last = {20 * MS, 5 * MS + 10 * MS, FIXTURE_START_NS + 10 * MS};
    process.first_clock = (struct dw_clock_pair){0, 5 * MS, FIXTURE_START_NS};
    assert_int_equal(dw_log_writer_init(writer, -1), 0);
    dw_log_write_process(writer, 0, &process, &profile->strings);
    dw_log_write_strings(writer, &profile->strings, 0);
    dw_log_write_frames(writer, &profile->frames, 0);
    dw_log_write_places(writer, &profile->places, 0);
    dw_log_write_tree(writer, &profile->paths, 0);
    dw_log_write_thread(writer, 0, 0, 41, (struct dw_string){"MainThread", 10});
    dw_log_write_clock(writer, 0, &last);
    dw_profile_free(profile);
}

static struct dw_profile *end(struct dw_log_writer *writer, uint64_t damaged_chunks)
{
    dw_log_write_end(writer, 0, 0, false);
    struct dw_profile *profile = fixture_load(writer->memory.data, writer->memory.size);
    assert_int_equal(profile->losses.damaged_chunks, damaged_chunks);
    assert_true(profile->processes[0].ended);
    dw_log_writer_release(writer);
    return profile;
}

static void write_row(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                      dw_measure_mask mask, const uint64_t *numbers)
{
    dw_log_rows_begin(writer, 0);
    dw_log_rows_add(writer, path, labels, mask, numbers, NULL);
    dw_log_rows_end(writer);
}

static dw_measure_mask mask_of(struct dw_profile *profile, const char *path)
{
    const struct dw_value_row *row = fixture_row(profile, 0, fixture_path(profile, path));
    return dw_value_told(&profile->threads[0].values, row);
}

static uint64_t value_of(struct dw_profile *profile, const char *path, enum dw_measure measure)
{
    return fixture_value(profile, 0, fixture_path(profile, path), measure);
}

/* One of them is unknown to this build; numbers of it are skipped. */
static void test_measures_are_known_by_name(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    begin(&writer);
    write_chunk(&writer, DW_CHUNK_MEASURES,
                ITEMS(N(5), T("wall"), N(DW_UNIT_NS), N(DW_ADD_SUM), N(40), T("samples"),
                      N(DW_UNIT_COUNT), N(DW_ADD_SUM), N(9), T("sparkles"), N(77), N(99), N(63),
                      T("count"), N(DW_UNIT_COUNT), N(DW_ADD_SUM)));
    write_chunk(&writer, DW_CHUNK_ROWS,
                ITEMS(N(0), N(2), N(0), N(DW_MASK(5) | DW_MASK(9) | DW_MASK(40) | DW_MASK(63)),
                      N(500), N(900), N(40), N(63), N(1), N(0), N(DW_MASK(40)), N(3)));
    struct dw_profile *profile = end(&writer, 0);
    assert_int_equal(mask_of(profile, "load/parse"),
                     DW_MASK(DW_WALL) | DW_MASK(DW_SAMPLES) | DW_MASK(DW_COUNT));
    assert_int_equal(value_of(profile, "load/parse", DW_WALL), 500);
    assert_int_equal(value_of(profile, "load/parse", DW_SAMPLES), 40);
    assert_int_equal(value_of(profile, "load/parse", DW_COUNT), 63);
    assert_int_equal(mask_of(profile, "load"), DW_MASK(DW_SAMPLES));
    assert_int_equal(value_of(profile, "load", DW_SAMPLES), 3);
    dw_profile_free(profile);
}

/* Nothing says what the numbers are, so they are nothing. */
static void test_rows_without_measures(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    begin(&writer);
    write_row(&writer, 1, 0, DW_MASK(DW_COUNT) | DW_MASK(DW_CPU), (uint64_t[]){1, 2});
    struct dw_profile *profile = end(&writer, 0);
    assert_int_equal(dw_profile_measures(profile), 0);
    free(fixture_show(profile, "csv", NULL, NULL));
    dw_profile_free(profile);
}

static void test_only_ticks_are_scaled(void **state)
{
    (void)state;
    static const enum dw_unit units[] = {DW_UNIT_TICKS, DW_UNIT_NS};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct dw_log_writer writer;
        begin(&writer);
        dw_log_write_measures(&writer, units[i] == DW_UNIT_TICKS ? DW_TICK_MASK : 0);
        write_row(&writer, 1, 0,
                  DW_MASK(DW_COUNT) | DW_MASK(DW_TOTAL) | DW_MASK(DW_ENTRY_CPU) | DW_MASK(DW_WALL),
                  (uint64_t[]){10, 600, 70, 80});
        struct dw_profile *profile = end(&writer, 0);
        assert_int_equal(value_of(profile, "load", DW_COUNT), 10);
        assert_int_equal(value_of(profile, "load", DW_TOTAL), i ? 600 : 300);
        assert_int_equal(value_of(profile, "load", DW_ENTRY_CPU), 70);
        assert_int_equal(value_of(profile, "load", DW_WALL), 80);
        dw_profile_free(profile);
    }
}

/* Entries that were open lasted until the last sign of life: tick 20 MS. */
static void test_open_entries_last_until_the_end(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    begin(&writer);
    dw_log_write_measures(&writer, DW_TICK_MASK);
    write_row(&writer, 1, 0, DW_MASK(DW_TOTAL) | DW_MASK(DW_OPEN) | DW_MASK(DW_OPEN_TOTAL),
              (uint64_t[]){4 * MS, 2, 12 * MS + 18 * MS});
    struct dw_profile *profile = end(&writer, 0);
    assert_int_equal(value_of(profile, "load", DW_OPEN_TOTAL), (8 + 2) * MS / 2);
    assert_int_equal(value_of(profile, "load", DW_TOTAL), (4 + 8 + 2) * MS / 2);
    dw_profile_free(profile);
}

static void test_the_latest_row_counts(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_histogram_entry buckets[] = {{3, 1}, {90, 4}};
    struct dw_spread spread = {10, {{buckets}, 2, 2}};
    const dw_measure_mask mask = DW_MASK(DW_COUNT) | DW_MASK(DW_ENTRY_CPU);
    begin(&writer);
    dw_log_write_measures(&writer, 0);
    dw_log_rows_begin(&writer, 0);
    dw_log_rows_add(&writer, 1, 0, mask, (uint64_t[]){1, 2}, &spread);
    dw_log_rows_add(&writer, 2, 0, mask, (uint64_t[]){7, 8}, NULL);
    spread = (struct dw_spread){50, {{&buckets[1]}, 1, 1}};
    buckets[1].count = 6;
    dw_log_rows_add(&writer, 1, 0, DW_MASK(DW_COUNT), (uint64_t[]){5}, &spread);
    dw_log_rows_end(&writer);
    struct dw_profile *profile = end(&writer, 0);
    struct dw_metric metric = fixture_metric(profile, 0, fixture_path(profile, "load"));
    assert_int_equal(mask_of(profile, "load"), mask); /* what it does not name stays */
    assert_int_equal(metric.count, 5);
    assert_int_equal(metric.cpu, 2);
    assert_true(metric.spread->sum_squares == 50 || metric.spread->sum_squares == 50 / 4);
    uint64_t hits = 0; /* the bucket that was not told again is as before */
    for (uint32_t i = 0; i < metric.spread->histogram.count; i++)
        hits += dw_histogram_entries(&metric.spread->histogram)[i].count;
    assert_int_equal(hits, 1 + 6);
    assert_int_equal(value_of(profile, "load/parse", DW_ENTRY_CPU), 8);
    dw_profile_free(profile);
}

/* The row of "load" whose label `task` has that value. */
static const struct dw_value_row *row_of_task(const struct dw_profile *profile, const char *task)
{
    const struct dw_value_table *values = &profile->threads[0].values;
    for (uint32_t i = 0; i < values->count; i++) {
        const struct dw_label_set *set = &profile->labels.sets[values->rows[i].labels];
        const struct dw_label *pairs = &profile->labels.pairs[set->first];
        if (set->count && !strcmp(dw_profile_string(profile, pairs->value).bytes, task) &&
            !strcmp(dw_profile_string(profile, pairs->key).bytes, "task"))
            return &values->rows[i];
    }
    fail_msg("no row of task %s", task);
    return NULL;
}

static void test_labels_come_back(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    begin(&writer);
    write_chunk(&writer, DW_CHUNK_STRINGS, ITEMS(N(50), T("task"), T("fetch"), T("store")));
    write_chunk(
        &writer, DW_CHUNK_LABELS,
        ITEMS(N(7), N(0), N(1), N(50), N(51), N(DW_SAMPLE_WAITING + 1), N(1), N(50), N(52)));
    dw_log_write_measures(&writer, 0);
    write_row(&writer, 1, 7, DW_MASK(DW_SAMPLES), (uint64_t[]){3});
    write_row(&writer, 1, 8, DW_MASK(DW_SAMPLES), (uint64_t[]){4});
    write_row(&writer, 1, 99, DW_MASK(DW_SAMPLES), (uint64_t[]){5}); /* nobody told what they are */
    struct dw_profile *profile = end(&writer, 0);
    const struct dw_value_table *values = &profile->threads[0].values;
    const struct dw_value_row *fetch = row_of_task(profile, "fetch");
    const struct dw_value_row *store = row_of_task(profile, "store");
    assert_int_equal(values->count, 3);
    assert_int_equal(dw_value_get(values, fetch, DW_SAMPLES), 3);
    assert_int_equal(dw_labels_state(&profile->labels, fetch->labels), DW_SAMPLE_RUNNING);
    assert_int_equal(dw_value_get(values, store, DW_SAMPLES), 4);
    assert_int_equal(dw_labels_state(&profile->labels, store->labels), DW_SAMPLE_WAITING);
    assert_int_equal(value_of(profile, "load", DW_SAMPLES), 5);
    dw_profile_free(profile);
}

/* A path under one that was lost, or of a place that was, is under or of something named so. */
static void test_a_tree_with_holes(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    begin(&writer);
    write_chunk(&writer, DW_CHUNK_TREE, ITEMS(N(10), N(9), N(1), N(1), N(777), N(2), N(1)));
    dw_log_write_measures(&writer, 0);
    for (dw_path_id path = 10; path <= 13; path++)
        write_row(&writer, path, 0, DW_MASK(DW_COUNT), (uint64_t[]){path});
    struct dw_profile *profile = end(&writer, 0);
    assert_int_equal(value_of(profile, "<lost>/load", DW_COUNT), 10);
    assert_int_equal(value_of(profile, "load/<lost>", DW_COUNT), 11);
    assert_int_equal(value_of(profile, "load/parse/load", DW_COUNT), 12);
    assert_int_equal(value_of(profile, "<lost>", DW_COUNT), 13);
    dw_profile_free(profile);
}

/* Their times are of the monotonic clock, which began at 5 ms, whatever the ticks are. */
static void test_single_samples_have_their_time(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_buffer bytes = {0};
    struct dw_profile *without;
    begin(&writer);
    dw_timed_row_put(&bytes, MS, 1, 0, 300);
    dw_timed_row_put(&bytes, 2 * MS, 2, 0, 400);
    dw_log_write_timed_rows(&writer, 0, 6 * MS, &bytes);
    assert_int_equal(dw_profile_new(&without), 0);
    assert_int_equal(dw_log_read(writer.memory.data, writer.memory.size, 0, without), 0);
    assert_int_equal(without->threads[0].timed_count, 0);
    assert_int_equal(without->event_chunks, 1);
    struct dw_profile *profile = end(&writer, 0);
    const struct dw_thread *thread = &profile->threads[0];
    assert_int_equal(thread->timed_count, 2);
    assert_int_equal(thread->timed[0].time_ns, FIXTURE_START_NS + 2 * MS);
    assert_int_equal(thread->timed[0].weight_ns, 300);
    assert_int_equal(thread->timed[1].time_ns, FIXTURE_START_NS + 4 * MS);
    assert_int_equal(thread->timed[1].path, fixture_path(profile, "load/parse"));
    dw_buffer_release(&bytes);
    dw_profile_free(without);
    dw_profile_free(profile);
}

/* Whatever is wrong with a chunk, what comes before and after it is read. */
static void test_damage_costs_the_chunk(void **state)
{
    (void)state;
    static const uint64_t both = DW_MASK(DW_COUNT) | DW_MASK(DW_CPU);
    const struct {
        enum dw_chunk_type type;
        const struct item *items;
        size_t count;
    } cases[] = {
        {DW_CHUNK_MEASURES, ITEMS(N(DW_MEASURES_MAX), T("cpu"), N(1), N(0))},
        {DW_CHUNK_MEASURES, ITEMS(N(1), T("cpu"), N(1))},
        {DW_CHUNK_MEASURES, ITEMS(N(1), N(50), N(1), N(0))}, /* a name of 50 bytes */
        {DW_CHUNK_LABELS, ITEMS(N(1), N(0), N(DW_LABELS_MAX + 1), N(1), N(1))},
        {DW_CHUNK_LABELS, ITEMS(N(1), N(0), N(2), N(1), N(1), N(2))},
        {DW_CHUNK_LABELS, ITEMS(N(1), N(0))},
        {DW_CHUNK_LABELS, ITEMS(N(UINT64_C(1) << 23), N(0), N(0))}, /* a gap that no log has */
        {DW_CHUNK_TREE, ITEMS(N(5), N(1))},
        {DW_CHUNK_TREE, ITEMS(N(UINT64_C(1) << 23), N(1), N(1))},
        {DW_CHUNK_ROWS, ITEMS(N(0), N(1))},
        {DW_CHUNK_ROWS, ITEMS(N(0), N(1), N(0), N(both), N(1))},
        {DW_CHUNK_ROWS, ITEMS(N(0), N(1), N(0), N(UINT64_MAX), N(1))},
        {DW_CHUNK_ROWS, ITEMS(N(0), N(2), N(1), N(both), N(1), N(1), N(1), N(1), N(1))},
        {DW_CHUNK_ROWS, ITEMS(N(0), N(2), N(1), N(both), N(1), N(1), N(1), N(1), N(1),
                              N(DW_HISTOGRAM_BUCKETS), N(1))},
        {DW_CHUNK_TIMED_ROWS, ITEMS(N(0), N(1), N(1), N(1), N(0))},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dw_log_writer writer;
        begin(&writer);
        dw_log_write_measures(&writer, 0);
        write_row(&writer, 1, 0, both, (uint64_t[]){3, 4});
        write_chunk(&writer, cases[i].type, cases[i].items, cases[i].count);
        dw_log_write_measures(&writer, 0);
        write_row(&writer, DW_PATH_ROOT, 0, both, (uint64_t[]){5, 6});
        struct dw_profile *profile = end(&writer, 1);
        assert_int_equal(value_of(profile, "load", DW_COUNT), 3);
        assert_int_equal(value_of(profile, "load", DW_CPU), 4);
        assert_int_equal(value_of(profile, "", DW_COUNT), 5);
        assert_int_equal(value_of(profile, "", DW_CPU), 6);
        dw_profile_free(profile);
    }
}

/* Rows of older versions say what they are of by the way that samples were taken. Others in their
 * stream know it themselves. */
static void test_rows_beside_those_of_older_versions(void **state)
{
    (void)state;
    struct dw_log_writer writer;
    struct dw_sample_sum sum = {1, DW_SAMPLE_PYTHON, 3, 30};
    begin(&writer);
    dw_log_write_measures(&writer, 0);
    dw_log_write_sampling(&writer, 0, &(struct dw_sampling){.mode = DW_SAMPLE_WALL});
    write_chunk(&writer, DW_CHUNK_STACKS, ITEMS(N(1), N(0), N(1)));
    dw_log_write_samples(&writer, 0, &(struct dw_sample_sums){.samples = &sum, .count = 1}, NULL);
    write_row(&writer, 2, 0, DW_MASK(DW_CPU), (uint64_t[]){7});
    struct dw_profile *profile = end(&writer, 0);
    const struct dw_value_table *values = &profile->threads[0].values;
    assert_int_equal(values->rows[0].mask, DW_MASK(DW_SAMPLES) | DW_MASK(DW_WALL));
    assert_int_equal(dw_value_get(values, &values->rows[0], DW_WALL), 30);
    assert_int_equal(mask_of(profile, "load/parse"), DW_MASK(DW_CPU));
    assert_int_equal(value_of(profile, "load/parse", DW_CPU), 7);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures_are_known_by_name),
        cmocka_unit_test(test_rows_without_measures),
        cmocka_unit_test(test_only_ticks_are_scaled),
        cmocka_unit_test(test_open_entries_last_until_the_end),
        cmocka_unit_test(test_the_latest_row_counts),
        cmocka_unit_test(test_labels_come_back),
        cmocka_unit_test(test_a_tree_with_holes),
        cmocka_unit_test(test_single_samples_have_their_time),
        cmocka_unit_test(test_damage_costs_the_chunk),
        cmocka_unit_test(test_rows_beside_those_of_older_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
