/* SPDX-License-Identifier: MIT
 * What is saved reads back the same; saving that again gives the same bytes. */
#include "check.h"
#include "fixture.h"

#include "base/grow.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/moments.h"

#include <stdlib.h>
#include <string.h>

/* All lenses show the same for both profiles. */
static void check_same(struct dw_profile *a, struct dw_profile *b)
{
    static const char *const lenses[] = {"table", "csv", "json", "tree", "collapsed", "chrome"};
    for (size_t i = 0; i < COUNT_OF(lenses); i++) {
        char *one = fixture_show(a, lenses[i], NULL, NULL);
        char *two = fixture_show(b, lenses[i], NULL, NULL);
        assert_string_equal(one, two);
        free(one);
        free(two);
    }
}

static struct dw_profile *round_trip(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    fixture_save(profile, &writer);
    struct dw_profile *loaded = fixture_load(writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    return loaded;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    fixture_open(profile, 1, fixture_path(profile, "left/open"), 12345);
    struct dw_profile *loaded = round_trip(profile);
    check_same(profile, loaded);
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

static void test_second_save_is_the_same(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    struct dw_profile *once = round_trip(profile), *twice = round_trip(once);
    struct dw_log_writer first, second;
    fixture_save(once, &first);
    fixture_save(twice, &second);
    assert_int_equal(first.memory.size, second.memory.size);
    assert_memory_equal(first.memory.data, second.memory.data, first.memory.size);
    dw_log_writer_release(&first);
    dw_log_writer_release(&second);
    dw_profile_free(profile);
    dw_profile_free(once);
    dw_profile_free(twice);
}

static void check_name(const struct dw_profile *a, dw_string_id in_a, const struct dw_profile *b,
                       dw_string_id in_b)
{
    assert_string_equal(dw_profile_string(a, in_a).bytes, dw_profile_string(b, in_b).bytes);
}

static void check_path(const struct dw_profile *a, dw_path_id in_a, const struct dw_profile *b,
                       dw_path_id in_b)
{
    while (in_a && in_b) {
        const struct dw_path *left = &a->paths.paths[in_a], *right = &b->paths.paths[in_b];
        check_name(a, dw_profile_path_frame(a, in_a)->name, b,
                   dw_profile_path_frame(b, in_b)->name);
        assert_int_equal(a->places.places[left->step].line, b->places.places[right->step].line);
        in_a = left->parent;
        in_b = right->parent;
    }
    assert_int_equal(in_a, in_b);
}

static void check_labels(const struct dw_profile *a, dw_labels_id in_a, const struct dw_profile *b,
                         dw_labels_id in_b)
{
    const struct dw_label_set *left = &a->labels.sets[in_a], *right = &b->labels.sets[in_b];
    assert_int_equal(left->state, right->state);
    assert_int_equal(left->count, right->count);
    for (uint32_t i = 0; i < left->count; i++) {
        const struct dw_label *pair = &a->labels.pairs[left->first + i];
        const struct dw_label *other = &b->labels.pairs[right->first + i];
        check_name(a, pair->key, b, other->key);
        check_name(a, pair->value, b, other->value);
    }
}

static void check_row(const struct dw_value_table *a, const struct dw_value_row *in_a,
                      const struct dw_value_table *b, const struct dw_value_row *in_b)
{
    assert_int_equal(dw_value_told(a, in_a), dw_value_told(b, in_b));
    for (enum dw_measure i = 0; i < DW_MEASURES; i++)
        assert_int_equal(dw_value_get(a, in_a, i), dw_value_get(b, in_b, i));
    assert_int_equal(in_a->spread != 0, in_b->spread != 0);
    if (!in_a->spread)
        return;
    const struct dw_spread *left = &a->spreads[in_a->spread - 1];
    const struct dw_spread *right = &b->spreads[in_b->spread - 1];
    assert_true(left->sum_squares == right->sum_squares);
    assert_int_equal(left->histogram.count, right->histogram.count);
    assert_memory_equal(dw_histogram_entries(&left->histogram),
                        dw_histogram_entries(&right->histogram),
                        left->histogram.count * sizeof(struct dw_histogram_entry));
}

static void check_thread(const struct dw_profile *a, const struct dw_profile *b, uint32_t index)
{
    const struct dw_thread *left = &a->threads[index], *right = &b->threads[index];
    assert_int_equal(left->values.count, right->values.count);
    for (uint32_t i = 0; i < left->values.count; i++) {
        const struct dw_value_row *row = &left->values.rows[i], *other = &right->values.rows[i];
        check_path(a, row->path, b, other->path);
        check_labels(a, row->labels, b, other->labels);
        check_row(&left->values, row, &right->values, other);
    }
    assert_int_equal(left->timed_count, right->timed_count);
    for (uint32_t i = 0; i < left->timed_count; i++) {
        assert_true(left->timed[i].time_ns == right->timed[i].time_ns);
        assert_int_equal(left->timed[i].weight_ns, right->timed[i].weight_ns);
        check_path(a, left->timed[i].path, b, right->timed[i].path);
        check_labels(a, left->timed[i].labels, b, right->timed[i].labels);
    }
}

static void test_all_measures_and_labels_are_kept(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_mixed();
    struct dw_profile *once = round_trip(profile), *twice = round_trip(once);
    assert_int_equal(profile->thread_count, 2);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        check_thread(profile, once, i);
        check_thread(profile, twice, i);
    }
    dw_profile_free(profile);
    dw_profile_free(once);
    dw_profile_free(twice);
}

static void test_ends_drops_and_sources_are_kept(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    profile->processes[0].dropped = 9;
    profile->processes[0].is_reported = true;
    fixture_thread(profile, fixture_process(profile, 50, 77), 1, "MainThread");
    profile->processes[1].ended = false;
    struct dw_log_writer writer;
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    assert_int_equal(dw_log_save(profile, &writer), 0);
    dw_log_write_source(&writer, (struct dw_string){"a.py", 4}, (struct dw_string){"pass\n", 5});
    struct dw_profile *once = fixture_load(writer.memory.data, writer.memory.size);
    struct dw_profile *loaded = round_trip(once);
    assert_int_equal(loaded->process_count, 2);
    assert_true(loaded->processes[0].ended);
    assert_int_equal(loaded->processes[0].dropped, 9);
    assert_true(loaded->processes[0].is_reported);
    assert_false(loaded->processes[1].ended);
    assert_int_equal(loaded->losses.cut_files, 1);
    assert_int_equal(loaded->source_count, 1);
    assert_string_equal(dw_profile_string(loaded, loaded->sources[0].text).bytes, "pass\n");
    assert_memory_equal(loaded->processes[1].uuid, profile->processes[1].uuid, 16);
    dw_log_writer_release(&writer);
    dw_profile_free(profile);
    dw_profile_free(once);
    dw_profile_free(loaded);
}

/* Merging many recordings of one program would else make a file twice as large. */
static void test_texts_of_sources_are_written_once(void **state)
{
    enum { SIZE = 100000 };
    struct dw_profile *profile = fixture_small();
    struct dw_log_writer writer;
    struct dw_source source;
    char *text = malloc(SIZE);
    (void)state;
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)(33 + fixture_random_below(90));
    assert_int_equal(dw_string_intern(&profile->strings, "noise.py", 8, &source.file), 0);
    assert_int_equal(dw_string_intern(&profile->strings, text, SIZE, &source.text), 0);
    assert_int_equal(DW_GROW(profile->sources, profile->source_count, profile->source_capacity), 0);
    profile->sources[profile->source_count++] = source;
    fixture_save(profile, &writer);
    assert_in_range(writer.memory.size, SIZE / 2, SIZE + SIZE / 2);
    dw_log_writer_release(&writer);
    dw_profile_free(profile);
    free(text);
}

/* Two logs of different processes. */
static void make_logs(struct dw_log_writer logs[2])
{
    struct dw_profile *one = fixture_small(), *other = fixture_mixed();
    other->processes[0].uuid[0] = 99;
    fixture_source(one, "a.py", "pass\n");
    fixture_source(other, "a.py", "pass\n");
    fixture_source(other, "b.py", "pass\n");
    fixture_save(one, &logs[0]);
    fixture_save(other, &logs[1]);
    dw_profile_free(one);
    dw_profile_free(other);
}

/* Reading one after the other, with or without the numbers of the first in memory. */
static struct dw_profile *merge(const struct dw_log_writer logs[2], bool in_parts)
{
    struct dw_profile *profile;
    struct dw_log_writer writer;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    struct dw_log_saver saver = {.writer = &writer};
    for (int i = 0; i < 2; i++) {
        const struct dw_buffer *log = &logs[i].memory;
        assert_int_equal(dw_log_read(log->data, log->size, DW_READ_EVENTS, profile), 0);
        if (!in_parts)
            continue;
        assert_int_equal(dw_log_save_more(&saver, profile), 0);
        dw_profile_forget(profile);
        assert_int_equal(dw_profile_measures(profile), 0);
    }
    assert_int_equal(dw_log_save_more(&saver, profile), 0);
    assert_int_equal(dw_log_save_end(&saver, profile), 0);
    struct dw_profile *loaded = fixture_load(writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    dw_profile_free(profile);
    return loaded;
}

static void test_parts_are_what_the_whole_is(void **state)
{
    struct dw_log_writer logs[2];
    (void)state;
    make_logs(logs);
    struct dw_profile *parts = merge(logs, true), *whole = merge(logs, false);
    assert_int_equal(whole->process_count, parts->process_count);
    assert_int_equal(whole->thread_count, parts->thread_count);
    assert_int_equal(whole->block_count, parts->block_count);
    assert_int_equal(parts->source_count, 2);
    for (uint32_t i = 0; i < whole->thread_count; i++)
        check_thread(whole, parts, i);
    check_same(whole, parts);
    dw_profile_free(parts);
    dw_profile_free(whole);
    dw_log_writer_release(&logs[0]);
    dw_log_writer_release(&logs[1]);
}

static uint64_t random_number(void)
{
    uint64_t number =
        (uint64_t)fixture_random_below(1u << 31) << 32 | fixture_random_below(1u << 31);
    return number >> fixture_random_below(63);
}

/* A row as a recorder tells it: some of its measures, and what has changed in its histogram. */
static void add_random_row(struct dw_log_writer *log, dw_path_id path)
{
    uint64_t numbers[DW_MEASURES];
    struct dw_spread spread = {.sum_squares = (unsigned __int128)random_number() << 20};
    dw_measure_mask any = random_number() & (DW_MASK(DW_MEASURES) - 1);
    dw_measure_mask mask = fixture_random_below(3) ? DW_ENTRY_MASK : any;
    for (uint32_t i = 0; i < DW_MEASURES; i++)
        numbers[i] = random_number();
    for (uint32_t i = fixture_random_below(5); i > 0; i--)
        dw_histogram_set(&spread.histogram, fixture_random_below(6) * 250, 1 + random_number());
    dw_log_rows_add(log, path, fixture_random_below(2), mask, numbers,
                    fixture_random_below(2) ? &spread : NULL);
    dw_histogram_release(&spread.histogram);
}

/* The log of a process whose ticks are no nanoseconds; its rows are told several times. */
static void make_ticking_log(struct dw_log_writer *log)
{
    struct dw_profile *profile = fixture_small();
    struct dw_process process = profile->processes[0];
    struct dw_clock_pair last = {.tick = 9000000, .monotonic_ns = 4000000, .wall_ns = 4000077};
    process.first_clock = (struct dw_clock_pair){.tick = 1000000, .wall_ns = 77};
    fixture_state(profile, 1);
    assert_int_equal(dw_log_writer_init(log, -1), 0);
    dw_log_write_process(log, 0, &process, &profile->strings);
    dw_log_write_measures(log, DW_TICK_MASK);
    dw_log_write_strings(log, &profile->strings, 0);
    dw_log_write_frames(log, &profile->frames, 0);
    dw_log_write_places(log, &profile->places, 0);
    dw_log_write_tree(log, &profile->paths, 0);
    dw_log_write_labels(log, &profile->labels, 0);
    dw_log_write_thread(log, 0, 0, 1, (struct dw_string){"main", 4});
    for (int round = 0; round < 20; round++) {
        dw_log_rows_begin(log, 0);
        for (dw_path_id path = 1; path < profile->paths.count; path++)
            if (fixture_random_below(3))
                add_random_row(log, path);
        dw_log_rows_end(log);
    }
    dw_log_write_clock(log, 0, &last);
    dw_log_write_end(log, 0, 0, false);
    dw_profile_free(profile);
}

/* As a merge does, without decoding rows. */
static void copy_log(const struct dw_log_writer *log, struct dw_log_writer *copy)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(
        dw_log_read(log->memory.data, log->memory.size, DW_READ_EVENTS | DW_READ_TO_SAVE, profile),
        0);
    assert_true(profile->processes[0].has_ticks);
    fixture_save(profile, copy);
    dw_profile_free(profile);
}

static void test_copied_rows_are_what_they_were(void **state)
{
    struct dw_log_writer log, once, twice;
    (void)state;
    for (int i = 0; i < 20; i++) {
        make_ticking_log(&log);
        copy_log(&log, &once);
        copy_log(&once, &twice);
        struct dw_profile *read = fixture_load(log.memory.data, log.memory.size);
        struct dw_profile *copied = fixture_load(once.memory.data, once.memory.size);
        check_thread(read, copied, 0);
        assert_int_equal(once.memory.size, twice.memory.size);
        assert_memory_equal(once.memory.data, twice.memory.data, once.memory.size);
        dw_profile_free(read);
        dw_profile_free(copied);
        dw_log_writer_release(&log);
        dw_log_writer_release(&once);
        dw_log_writer_release(&twice);
    }
}

static void test_values_that_nobody_keeps_are_checked(void **state)
{
    struct dw_log_writer logs[2];
    struct dw_profile *profile;
    (void)state;
    make_logs(logs);
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(
        dw_log_read(logs[1].memory.data, logs[1].memory.size, DW_READ_NO_VALUES, profile), 0);
    assert_true(profile->thread_count > 0 && profile->paths.count > 1);
    assert_int_equal(dw_profile_measures(profile), 0);
    dw_profile_free(profile);
    dw_log_writer_release(&logs[0]);
    dw_log_writer_release(&logs[1]);
}

static void test_lines_are_kept(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    dw_frame_id f = fixture_function(profile, "a.py", 3, "f");
    dw_frame_id g = fixture_function(profile, "a.py", 9, "g");
    fixture_line(profile, f, 4, 7, 1000)->values[DW_LINE_SUSPENDED] = 55;
    fixture_line(profile, f, 5, 0, 0);
    struct dw_line *callee = dw_line_get(&profile->lines, f, 4, g);
    callee->values[DW_LINE_HITS] = 2;
    struct dw_profile *loaded = round_trip(profile);
    assert_int_equal(loaded->lines.count, profile->lines.count);
    for (uint32_t i = 0; i < loaded->lines.count; i++) {
        const struct dw_line *line = &loaded->lines.lines[i], *was = &profile->lines.lines[i];
        assert_string_equal(
            dw_profile_string(loaded, loaded->frames.frames[line->function].name).bytes, "f");
        assert_int_equal(line->line, was->line);
        assert_int_equal(line->callee != 0, was->callee != 0);
        assert_memory_equal(line->values, was->values, sizeof line->values);
    }
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

/* A gap in the timeline stays one, and a block may start before the first clock. */
static void test_gaps_stay_gaps(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_small();
    uint32_t thread = fixture_thread(profile, 0, 43, "third");
    dw_path_id load = fixture_path(profile, "load"), parse = fixture_path(profile, "load/parse");
    const struct dw_event enter[] = {{10, DW_EVENT_ENTER, load, 0}};
    const struct dw_event leave[] = {{500, DW_EVENT_EXIT, 0, 0}, {600, DW_EVENT_EXIT, 0, 0}};
    fixture_events(profile, thread, 3, load, leave, 2);
    fixture_events(profile, thread, 7, DW_PATH_ROOT, enter, 1);
    fixture_events(profile, thread, 9, parse, leave, 2);
    struct dw_profile *loaded = round_trip(profile);
    check_same(profile, loaded);
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

/* More events than a block holds: it is cut, and nothing shows of it. */
static void test_large_blocks_are_cut(void **state)
{
    (void)state;
    const size_t count = 400000;
    struct dw_profile *profile = fixture_small();
    uint32_t thread = fixture_thread(profile, 0, 43, "third");
    dw_path_id load = fixture_path(profile, "load");
    struct dw_event *events = calloc(count, sizeof *events);
    for (size_t i = 0; i < count; i++)
        events[i] = (struct dw_event){i * 20000, i % 2 ? DW_EVENT_EXIT : DW_EVENT_ENTER, load, 0};
    fixture_events(profile, thread, 0, DW_PATH_ROOT, events, count);
    struct dw_profile *loaded = round_trip(profile);
    assert_true(loaded->block_count > profile->block_count);
    char *one = fixture_show(profile, "chrome", NULL, NULL);
    char *two = fixture_show(loaded, "chrome", NULL, NULL);
    assert_true(!strcmp(one, two));
    free(one);
    free(two);
    free(events);
    dw_profile_free(profile);
    dw_profile_free(loaded);
}

#define MOMENT_NS UINT64_C(500000000)

/* A path that had one byte more at each moment. */
static struct dw_profile *with_moments(uint32_t count)
{
    struct dw_profile *profile = fixture_new();
    fixture_thread(profile, fixture_process(profile, 41, 0), 41, "MainThread");
    struct dw_thread *thread = &profile->threads[0];
    struct dw_process *process = &profile->processes[0];
    uint32_t row;
    dw_path_id path = fixture_path(profile, "grows");
    assert_int_equal(dw_value_row_get(&thread->values, path, DW_LABELS_NONE, &row), 0);
    for (uint64_t i = 1; i <= count; i++) {
        struct dw_clock_pair clock = process->first_clock;
        clock.monotonic_ns += i * MOMENT_NS;
        clock.wall_ns += i * MOMENT_NS;
        clock.tick = clock.wall_ns;
        dw_measure_mask mask = DW_MASK(DW_LIVE_BYTES);
        uint64_t before[DW_MEASURES] = {[DW_LIVE_BYTES] = i - 1};
        assert_int_equal(dw_moments_note_row(profile, thread, row, mask, before, &i), 0);
        assert_int_equal(dw_value_row_set(&thread->values, row, mask, &i), 0);
        assert_int_equal(dw_moments_note_clock(process, &clock), 0);
        assert_int_equal(process->moment_count, i);
        process->last_clock = clock;
        clock.monotonic_ns += MOMENT_NS / 2; /* of a probe that knows nothing of memory */
        assert_int_equal(dw_moments_note_clock(process, &clock), 0);
    }
    process->ended = true;
    return profile;
}

static uint64_t alive_at(const struct dw_log_writer *log, uint64_t since_start_ns)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read(log->memory.data, log->memory.size, DW_READ_MOMENTS, profile), 0);
    assert_int_equal(dw_profile_go_to(profile, since_start_ns), 0);
    assert_true(profile->moment_ns <= since_start_ns);
    uint64_t sum = 0;
    const struct dw_value_table *values = &profile->threads[0].values;
    for (uint32_t i = 0; i < values->count; i++)
        sum += dw_value_get(values, &values->rows[i], DW_LIVE_BYTES);
    assert_int_equal(sum, profile->moment_ns / MOMENT_NS);
    dw_profile_free(profile);
    return sum;
}

static void test_moments_are_kept(void **state)
{
    (void)state;
    struct dw_profile *profile = with_moments(10);
    struct dw_log_writer log;
    fixture_save(profile, &log);
    for (uint64_t i = 1; i <= 10; i++)
        assert_int_equal(alive_at(&log, i * MOMENT_NS), i);
    assert_int_equal(alive_at(&log, 4 * MOMENT_NS - 1), 3);
    assert_int_equal(alive_at(&log, 100 * MOMENT_NS), 10);
    dw_log_writer_release(&log);
    dw_profile_free(profile);
}

static void test_moments_are_kept_of_rows_that_are_copied(void **state)
{
    (void)state;
    struct dw_profile *profile = with_moments(10), *copied;
    struct dw_log_writer log, again;
    fixture_save(profile, &log);
    assert_int_equal(dw_profile_new(&copied), 0);
    unsigned flags = DW_READ_MOMENTS | DW_READ_TO_SAVE;
    assert_int_equal(dw_log_read(log.memory.data, log.memory.size, flags, copied), 0);
    assert_true(copied->processes[0].has_ticks);
    fixture_save(copied, &again);
    for (uint64_t i = 1; i <= 10; i++)
        assert_int_equal(alive_at(&again, i * MOMENT_NS), i);
    dw_log_writer_release(&log);
    dw_log_writer_release(&again);
    dw_profile_free(profile);
    dw_profile_free(copied);
}

static void test_many_moments_become_fewer(void **state)
{
    (void)state;
    struct dw_profile *few = with_moments(200), *many = with_moments(20000);
    struct dw_log_writer small, large;
    fixture_save(few, &small);
    fixture_save(many, &large);
    assert_true(large.memory.size < 2 * small.memory.size);
    assert_in_range(alive_at(&large, 10000 * MOMENT_NS), 9900, 10000);
    assert_int_equal(alive_at(&large, 20000 * MOMENT_NS), 20000);
    dw_log_writer_release(&small);
    dw_log_writer_release(&large);
    dw_profile_free(few);
    dw_profile_free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_kept),
        cmocka_unit_test(test_moments_are_kept_of_rows_that_are_copied),
        cmocka_unit_test(test_many_moments_become_fewer),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_second_save_is_the_same),
        cmocka_unit_test(test_all_measures_and_labels_are_kept),
        cmocka_unit_test(test_ends_drops_and_sources_are_kept),
        cmocka_unit_test(test_texts_of_sources_are_written_once),
        cmocka_unit_test(test_parts_are_what_the_whole_is),
        cmocka_unit_test(test_copied_rows_are_what_they_were),
        cmocka_unit_test(test_values_that_nobody_keeps_are_checked),
        cmocka_unit_test(test_lines_are_kept),
        cmocka_unit_test(test_gaps_stay_gaps),
        cmocka_unit_test(test_large_blocks_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
