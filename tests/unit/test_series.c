/* SPDX-License-Identifier: MIT
 * Series: points in order, what a log keeps of them, and the counters of a timeline. */
#include "check.h"
#include "fixture.h"

#include "base/error.h"
#include "log/reader.h"
#include "log/save.h"

#include <string.h>

static dw_string_id name_of(struct dw_profile *profile, const char *text)
{
    dw_string_id id;
    assert_int_equal(dw_string_intern(&profile->strings, text, strlen(text), &id), 0);
    return id;
}

static struct dw_series *new_series(struct dw_profile *profile, uint32_t process, const char *name,
                                    enum dw_unit unit)
{
    struct dw_series like = {.process = process, .name = name_of(profile, name), .unit = unit};
    struct dw_series *series = dw_series_append(profile, &like);
    assert_non_null(series);
    return series;
}

static void add(struct dw_series *series, uint64_t after_us, int64_t value)
{
    assert_int_equal(dw_series_add(series, FIXTURE_START_NS + after_us * 1000, value), 0);
}

static struct dw_profile *round_trip(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    fixture_save(profile, &writer);
    struct dw_profile *loaded = fixture_load(writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    return loaded;
}

static void test_points_come_in_order_and_are_found_by_time(void **state)
{
    struct dw_profile *profile = fixture_small();
    struct dw_series *series = new_series(profile, 0, "rss", DW_UNIT_BYTES);
    (void)state;
    add(series, 10, 1);
    add(series, 20, 2);
    add(series, 20, 3);
    add(series, 30, 4);
    assert_int_equal(dw_series_add(series, FIXTURE_START_NS, 5), DW_ERR_DAMAGED);
    assert_int_equal(series->count, 4);
    assert_int_equal(dw_series_index(series, FIXTURE_START_NS + 9999), UINT32_MAX);
    assert_int_equal(dw_series_index(series, FIXTURE_START_NS + 10000), 0);
    assert_int_equal(dw_series_index(series, FIXTURE_START_NS + 29999), 2);
    assert_int_equal(dw_series_index(series, UINT64_MAX), 3);
    assert_ptr_equal(dw_series_find(profile, 0, "rss"), series);
    assert_null(dw_series_find(profile, 0, "pss"));
    dw_profile_free(profile);
}

/* The peak of a sum is one that there was; a process that is over counts no more. */
static void test_a_sum_is_made_on_one_clock(void **state)
{
    struct dw_profile *profile = fixture_small();
    new_series(profile, 0, "rss", DW_UNIT_BYTES);
    new_series(profile, 1, "rss", DW_UNIT_BYTES);
    struct dw_series *first = &profile->series[0], *second = &profile->series[1], sum = {0};
    const struct dw_series *parts[] = {first, second};
    (void)state;
    add(first, 10, 100);
    add(first, 20, 5);
    add(first, 60, 7);
    add(second, 30, 90);
    add(second, 40, 80);
    assert_int_equal(dw_series_sum(parts, 2, &sum), 0);
    int64_t expected[] = {100, 5, 95, 85, 5, 7, 0};
    assert_int_equal(sum.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(sum.points[i].value, expected[i]);
    dw_series_release(&sum);
    first->is_total = second->is_total = sum.is_total = true;
    assert_int_equal(dw_series_sum(parts, 2, &sum), 0);
    assert_int_equal(sum.points[0].value, 0); /* totals count from their first point on */
    assert_int_equal(sum.points[sum.count - 1].value, 7 - 100 + 80 - 90);
    dw_series_release(&sum);
    dw_profile_free(profile);
}

static void check_same(const struct dw_profile *a, const struct dw_profile *b)
{
    assert_int_equal(a->series_count, b->series_count);
    for (uint32_t i = 0; i < a->series_count; i++) {
        const struct dw_series *left = &a->series[i], *right = &b->series[i];
        assert_string_equal(dw_profile_string(a, left->name).bytes,
                            dw_profile_string(b, right->name).bytes);
        assert_int_equal(left->process, right->process);
        assert_int_equal(left->thread, right->thread);
        assert_int_equal(left->unit, right->unit);
        assert_int_equal(left->is_total, right->is_total);
        assert_int_equal(left->count, right->count);
        assert_memory_equal(left->points, right->points, left->count * sizeof *left->points);
    }
}

/* Two processes, of which one has two gauges that were read together, and a thread's. */
static struct dw_profile *profile_with_series(void)
{
    struct dw_profile *profile = fixture_small();
    uint32_t child = fixture_process(profile, 50, 2000);
    fixture_thread(profile, child, 50, "MainThread");
    new_series(profile, 0, "rss", DW_UNIT_BYTES);
    new_series(profile, 0, "cpu", DW_UNIT_NS)->is_total = true;
    new_series(profile, child, "rss", DW_UNIT_BYTES);
    new_series(profile, 0, "balance", DW_UNIT_COUNT)->thread = 2;
    for (int i = 0; i < 50; i++) {
        add(&profile->series[0], 100 + 1000 * (uint64_t)i, 4096 * (i % 7 + 1000));
        add(&profile->series[1], 100 + 1000 * (uint64_t)i, 100000 * i);
        add(&profile->series[2], 300 + 1700 * (uint64_t)i, 4096 * (2000 - i));
        add(&profile->series[3], 7 * (uint64_t)i, i % 2 ? INT64_MIN / 2 : INT64_MAX / 2);
    }
    return profile;
}

static void test_a_log_keeps_series(void **state)
{
    struct dw_profile *profile = profile_with_series();
    struct dw_profile *once = round_trip(profile), *twice = round_trip(once);
    (void)state;
    check_same(profile, once);
    check_same(profile, twice);
    dw_profile_free(profile);
    dw_profile_free(once);
    dw_profile_free(twice);
}

/* An hour of three gauges, ten readings a second. */
static void test_an_hour_is_small(void **state)
{
    struct dw_profile *profile = fixture_small();
    struct dw_log_writer without, with;
    uint64_t at_us = 0;
    int64_t cpu = 0, rss = 50 << 20;
    (void)state;
    fixture_save(profile, &without);
    new_series(profile, 0, "rss", DW_UNIT_BYTES);
    new_series(profile, 0, "cpu", DW_UNIT_NS);
    new_series(profile, 0, "threads", DW_UNIT_COUNT);
    for (int i = 0; i < 36000; i++) {
        at_us += 100000 + fixture_random_below(100);
        cpu += 100000 * (int64_t)fixture_random_below(1000);
        rss += 4096 * (int64_t)fixture_random_below(20);
        add(&profile->series[0], at_us, rss);
        add(&profile->series[1], at_us, cpu);
        add(&profile->series[2], at_us, 3);
    }
    fixture_save(profile, &with);
    assert_in_range(with.memory.size - without.memory.size, 1, 200000);
    dw_log_writer_release(&without);
    dw_log_writer_release(&with);
    dw_profile_free(profile);
}

static void begin_log(struct dw_log_writer *writer)
{
    struct dw_profile *profile = fixture_small();
    fixture_save(profile, writer);
    dw_profile_free(profile);
}

/* Writes readings of one gauge at 10 and 20 us behind the base. */
static void write_chunk(struct dw_log_writer *writer, const struct dw_gauge *gauge,
                        uint64_t base_ns)
{
    struct dw_buffer readings = {0};
    dw_reading_put(&readings, 10, &(int64_t){5}, 1);
    dw_reading_put(&readings, 10, &(int64_t){-2}, 1);
    dw_log_write_series(writer, 0, 0, gauge, 1, base_ns, &readings);
    dw_buffer_release(&readings);
}

static struct dw_profile *end_log(struct dw_log_writer *writer)
{
    struct dw_profile *loaded = fixture_load(writer->memory.data, writer->memory.size);
    dw_log_writer_release(writer);
    return loaded;
}

static void test_each_chunk_starts_anew(void **state)
{
    struct dw_log_writer writer;
    const struct dw_gauge gauge = {"rss", DW_UNIT_BYTES, false, 4096};
    (void)state;
    begin_log(&writer);
    write_chunk(&writer, &gauge, 1000000);
    write_chunk(&writer, &gauge, 2000000);
    struct dw_profile *loaded = end_log(&writer);
    assert_int_equal(loaded->series_count, 1);
    const struct dw_series *series = &loaded->series[0];
    assert_int_equal(series->count, 4);
    assert_int_equal(series->points[0].value, 5 * 4096);
    assert_int_equal(series->points[1].value, 3 * 4096);
    assert_int_equal(series->points[3].value, 3 * 4096);
    assert_int_equal(series->points[1].time_ns - series->points[0].time_ns, 10000);
    assert_int_equal(series->points[2].time_ns - series->points[0].time_ns, 1000000);
    dw_profile_free(loaded);
}

static void test_nonsense_costs_only_its_chunk(void **state)
{
    static const struct dw_gauge bad[] = {{"ticks", DW_UNIT_TICKS, false, 1},
                                          {"what", (enum dw_unit)77, false, 1},
                                          {"nothing", DW_UNIT_BYTES, false, 0}};
    const struct dw_gauge good = {"rss", DW_UNIT_BYTES, false, 1};
    struct dw_log_writer writer;
    (void)state;
    begin_log(&writer);
    write_chunk(&writer, &good, 2000000);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        write_chunk(&writer, &bad[i], 3000000);
    write_chunk(&writer, &good, 1000000); /* earlier than what is there */
    struct dw_profile *loaded = end_log(&writer);
    assert_int_equal(loaded->losses.damaged_chunks, 4);
    assert_int_equal(dw_series_find(loaded, 0, "rss")->count, 2);
    dw_profile_free(loaded);
}

static void test_counters_become_series(void **state)
{
    struct dw_profile *profile = fixture_small();
    uint32_t other = fixture_thread(profile, 0, 99, "other");
    dw_path_id bytes = fixture_child(profile, DW_PATH_ROOT, DW_FRAME_COUNTER, "bytes read",
                                     sizeof "bytes read" - 1);
    dw_path_id load = fixture_path(profile, "load");
    const struct dw_event events[] = {{10, DW_EVENT_COUNTER, bytes, 7},
                                      {20, DW_EVENT_ENTER, load, 0},
                                      {30, DW_EVENT_COUNTER, bytes, -9},
                                      {40, DW_EVENT_EXIT, 0, 0}};
    (void)state;
    fixture_events(profile, other, 0, DW_PATH_ROOT, events, COUNT_OF(events));
    fixture_prepare(profile);
    assert_int_equal(dw_series_add_counters(profile), 0);
    const struct dw_series *found = NULL;
    for (uint32_t i = 0; i < profile->series_count; i++)
        if (!strcmp(dw_profile_string(profile, profile->series[i].name).bytes, "bytes read"))
            found = &profile->series[i];
    assert_non_null(found);
    assert_int_equal(found->thread, other + 1);
    assert_int_equal(found->count, 2);
    assert_int_equal(found->points[0].value, 7);
    assert_int_equal(found->points[1].value, -9);
    assert_int_equal(found->points[1].time_ns, FIXTURE_START_NS + 30);
    dw_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_come_in_order_and_are_found_by_time),
        cmocka_unit_test(test_a_sum_is_made_on_one_clock),
        cmocka_unit_test(test_a_log_keeps_series),
        cmocka_unit_test(test_an_hour_is_small),
        cmocka_unit_test(test_each_chunk_starts_anew),
        cmocka_unit_test(test_nonsense_costs_only_its_chunk),
        cmocka_unit_test(test_counters_become_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
