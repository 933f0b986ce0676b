/* SPDX-License-Identifier: MIT
 * The chunks of samples. Their sums are absolute, so the latest one of a row counts. */
#include "base/grow.h"
#include "log/reading.h"

#include <string.h>

static int read_module(struct dw_reading *reading, struct dw_cursor *cursor,
                       struct dw_module *module)
{
    size_t size;
    module->path =
        dw_id_map_get(&reading->strings, dw_cursor_get_u32(cursor), reading->lost_string);
    module->start = dw_cursor_get(cursor);
    module->end = dw_cursor_get(cursor);
    module->file_offset = dw_cursor_get(cursor);
    module->bias = dw_cursor_get(cursor);
    const uint8_t *build_id = dw_cursor_get_blob(cursor, &size);
    if (!build_id || size > sizeof module->build_id)
        return DW_ERR_DAMAGED;
    memcpy(module->build_id, build_id, size);
    module->build_id_size = (uint32_t)size;
    return 0;
}

int dw_read_modules(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_profile *profile = reading->profile;
    uint32_t process, id;
    int error = dw_reading_process(reading, cursor, &process);
    if (error)
        return error;
    for (id = dw_cursor_get_u32(cursor); !cursor->bad && cursor->at < cursor->end; id++) {
        struct dw_module module = {.process = process};
        error = read_module(reading, cursor, &module);
        if (!error)
            error = DW_GROW(profile->modules, profile->module_count, profile->module_capacity);
        if (!error)
            error = dw_id_map_set(reading, &reading->modules, id, profile->module_count + 1, 0);
        if (error)
            return error;
        profile->modules[profile->module_count++] = module;
    }
    return 0;
}

static struct dw_place get_place(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_place place = {0};
    place.frame = dw_id_map_get(&reading->frames, dw_cursor_get_u32(cursor), reading->lost_frame);
    place.line = dw_cursor_get_u32(cursor);
    place.end_line = dw_cursor_get_u32(cursor);
    place.column = dw_cursor_get_u32(cursor);
    place.end_column = dw_cursor_get_u32(cursor);
    uint32_t module = dw_cursor_get_u32(cursor);
    place.module = module ? dw_id_map_get(&reading->modules, module - 1, 0) : 0;
    place.address = dw_cursor_get(cursor);
    place.outer = dw_id_map_get(&reading->places, dw_cursor_get_u32(cursor), 0);
    return place;
}

int dw_read_places(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    while (!cursor->bad && cursor->at < cursor->end) {
        struct dw_place place = get_place(reading, cursor);
        if (cursor->bad)
            break;
        dw_place_id mapped = 0;
        int error = id ? dw_place_intern(&reading->profile->places, &place, &mapped) : 0;
        if (!error)
            error = dw_id_map_set(reading, &reading->places, id++, mapped, reading->lost_place);
        if (error)
            return error;
    }
    return 0;
}

static dw_path_id get_stack(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return dw_id_map_get(&reading->stacks, dw_cursor_get_u32(cursor), reading->lost_path);
}

static int get_labels(struct dw_reading *reading, struct dw_cursor *cursor, dw_labels_id *labels)
{
    uint32_t state = dw_cursor_get_u32(cursor) & (DW_SAMPLE_STATE_MASK | DW_SAMPLE_HOLDS_GIL);
    return dw_labels_intern(&reading->profile->labels, state + 1, NULL, 0, labels);
}

/* What their times are is told later, by SAMPLING: read_settle.c corrects it. */
int dw_read_samples(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t thread, row;
    int error = dw_reading_thread(reading, cursor, &thread);
    reading->has_values = true;
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        dw_labels_id labels;
        dw_path_id path = get_stack(reading, cursor);
        error = get_labels(reading, cursor, &labels);
        uint64_t numbers[2] = {dw_cursor_get(cursor)}; /* samples */
        numbers[1] = dw_cursor_get(cursor);            /* and their time */
        if (error || cursor->bad)
            break;
        error = dw_reading_row(reading, thread, path, labels, false, &row);
        if (!error)
            error = dw_value_row_set(&reading->profile->threads[thread].values, row,
                                     DW_MASK(DW_SAMPLES) | DW_MASK(DW_CPU), numbers);
    }
    return error;
}

int dw_reading_timed(struct dw_reading *reading, uint32_t index,
                     const struct dw_timed_sample *sample)
{
    struct dw_thread *thread = &reading->profile->threads[index];
    if (!reading->limits->timed_samples)
        return DW_ERR_TOO_LARGE;
    reading->limits->timed_samples--;
    int error = DW_GROW(thread->timed, thread->timed_count, thread->timed_capacity);
    if (!error)
        thread->timed[thread->timed_count++] = *sample;
    return error;
}

/* Later versions may put more behind. */
int dw_read_sampling(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t process;
    int error = dw_reading_process(reading, cursor, &process);
    if (error)
        return error;
    uint64_t mode = dw_cursor_get(cursor), native = dw_cursor_get(cursor);
    struct dw_sampling sampling = {.mode = mode < DW_SAMPLE_MODES ? (enum dw_sample_mode)mode
                                                                  : DW_SAMPLE_WALL,
                                   .native = native != 0};
    uint64_t *numbers[] = {&sampling.period_ns, &sampling.taken, &sampling.missed,
                           &sampling.guessed,   &sampling.cut,   &sampling.retried};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = dw_cursor_get(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    reading->profile->processes[process].is_sampled = true;
    reading->profile->processes[process].sampling = sampling;
    return 0;
}

int dw_read_timed_samples(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index;
    int error = dw_reading_thread(reading, cursor, &index);
    if (error)
        return error;
    uint64_t tick = dw_cursor_get(cursor);
    reading->has_ticked_samples = true;
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        struct dw_timed_sample sample = {.time_ns = tick += dw_cursor_get(cursor)};
        sample.path = get_stack(reading, cursor);
        error = get_labels(reading, cursor, &sample.labels);
        sample.weight_ns = dw_cursor_get(cursor);
        if (!error && !cursor->bad)
            error = dw_reading_timed(reading, index, &sample);
    }
    return error;
}
