/* SPDX-License-Identifier: MIT
 * The whole report as one JSON document. All times are whole nanoseconds. */
#include "base/room.h"
#include "lens/table/data.h"
#include "lens/timing/timings.h"
#include "lens/view/column.h"
#include "lens/view/line_list.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#include <stdlib.h>

#define PATH_FRAMES_MAX 256

static void put_string(struct dw_out *out, struct dw_string string)
{
    dw_out_json_string(out, string.bytes, string.size);
}

/* Begins the member of that name, an array of rows. */
static void begin(struct dw_data *data, struct dw_out *out, const char *name)
{
    dw_out_printf(out, ",\n  \"%s\": ", name);
    dw_data_begin_rows(data, out);
}

static void put_process(struct dw_data *data, const struct dw_profile *profile, uint32_t index)
{
    const struct dw_process *process = &profile->processes[index];
    dw_data_number(data, "pid", process->pid);
    dw_data_number(data, "start_ns", process->first_clock.wall_ns);
    dw_data_number(data, "duration_ns", dw_process_duration_ns(process));
    dw_out_text(dw_data_cell(data, "ended"), process->ended ? "true" : "false");
    dw_data_number(data, "dropped", process->dropped);
    dw_roster_put_properties(dw_data_cell(data, "properties"), profile, process->properties,
                             process->property_count);
}

/* Processes and threads are numbered in the order of the roster, as rows refer to them. */
struct places {
    uint32_t *processes, *threads;                /* place to index */
    uint32_t *place_of_process, *place_of_thread; /* index to place */
    struct dw_room room;
};

static uint32_t *inverse(struct dw_room *room, const uint32_t *order, uint32_t count)
{
    uint32_t *place = dw_room_get(room, count, sizeof *place);
    for (uint32_t i = 0; place && i < count; i++)
        place[order[i]] = i;
    return place;
}

static int places_init(struct places *places, const struct dw_profile *profile)
{
    *places = (struct places){0};
    int error = dw_roster_processes(profile, &places->processes);
    if (!error)
        error = dw_roster_threads(profile, &places->threads);
    if (error)
        return error;
    places->place_of_process = inverse(&places->room, places->processes, profile->process_count);
    places->place_of_thread = inverse(&places->room, places->threads, profile->thread_count);
    return dw_room_error(&places->room);
}

static void places_release(struct places *places)
{
    free(places->processes);
    free(places->threads);
    dw_room_release(&places->room);
}

static void put_processes(struct dw_out *out, const struct dw_profile *profile,
                          const struct places *places)
{
    struct dw_data data;
    begin(&data, out, "processes");
    for (uint32_t i = 0; i < profile->process_count; i++) {
        dw_data_row(&data);
        put_process(&data, profile, places->processes[i]);
    }
    dw_data_end_rows(&data);
}

static void put_threads(struct dw_out *out, const struct dw_profile *profile,
                        const struct places *places)
{
    struct dw_data data;
    begin(&data, out, "threads");
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        const struct dw_thread *thread = &profile->threads[places->threads[i]];
        dw_data_row(&data);
        dw_data_number(&data, "process", places->place_of_process[thread->process]);
        dw_data_number(&data, "tid", thread->tid);
        dw_data_text(&data, "name", dw_profile_string(profile, thread->name));
    }
    dw_data_end_rows(&data);
}

static void put_path(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    struct dw_spelling spelling;
    dw_speller_spell(&rows->speller, row->path, PATH_FRAMES_MAX, &spelling);
    dw_out_char(out, '[');
    for (uint32_t i = 0; i < spelling.count; i++) {
        dw_out_text(out, i ? ", " : "");
        if (spelling.cut && i == spelling.cut_at) {
            dw_out_char(out, '"');
            dw_spelling_put_cut(out, &spelling);
            dw_out_text(out, "\", ");
        }
        put_string(out, dw_profile_path_name(rows->profile, spelling.paths[i]));
    }
    dw_out_char(out, ']');
}

static void put_identity(struct dw_data *data, const struct dw_rows *rows, const struct dw_row *row,
                         const struct places *places)
{
    const struct dw_frame *frame = dw_profile_frame(rows->profile, row->path);
    const struct dw_row_tree *tree = dw_row_tree(rows, row);
    dw_data_number(data, "id", row->id);
    if (row->parent == DW_ROW_NONE)
        dw_out_text(dw_data_cell(data, "parent"), "null");
    else
        dw_data_number(data, "parent", row->parent);
    dw_data_number(data, "depth", row->depth);
    if (tree->process != DW_ROW_NONE)
        dw_data_number(data, "process", places->place_of_process[tree->process]);
    if (tree->thread != DW_ROW_NONE)
        dw_data_number(data, "thread", places->place_of_thread[tree->thread]);
    dw_data_text(data, "name", dw_row_name(rows, row));
    if (rows->by != DW_BY_NAME)
        put_path(dw_data_cell(data, "path"), rows, row);
    if (frame->file) {
        dw_data_text(data, "file", dw_profile_string(rows->profile, frame->file));
        dw_data_number(data, "line", frame->line);
    }
}

/* Samples begin and end nowhere; those that are counts stand for no time. */
enum { OF_ENTRIES = 1, OF_SAMPLES = 2, OF_COUNTS = 4 };

static const struct {
    const char *name, *column;
    unsigned of;
} members[] = {
    {"count", "count", OF_ENTRIES},
    {"samples", "samples", OF_SAMPLES | OF_COUNTS},
    {"self_samples", "self", OF_COUNTS},
    {"open", "open", OF_ENTRIES},
    {"total_ns", "total", OF_ENTRIES | OF_SAMPLES},
    {"total_inner_ns", "total_inner", OF_ENTRIES},
    {"self_ns", "self", OF_ENTRIES | OF_SAMPLES},
    {"active_ns", "active", OF_ENTRIES},
    {"suspended_ns", "suspended", OF_ENTRIES},
    {"cpu_ns", "cpu", OF_ENTRIES},
    {"min_ns", "min", OF_ENTRIES},
    {"average_ns", "average", OF_ENTRIES},
    {"max_ns", "max", OF_ENTRIES},
    {"p50_ns", "p50", OF_ENTRIES},
    {"p95_ns", "p95", OF_ENTRIES},
    {"p99_ns", "p99", OF_ENTRIES},
    {"stdev_ns", "stdev", OF_ENTRIES},
};
#define MEMBERS (sizeof members / sizeof *members)

static void put_values(struct dw_data *data, const struct dw_rows *rows, const struct dw_row *row,
                       const struct dw_column *const columns[MEMBERS])
{
    struct dw_metric metric = dw_row_metric(rows, row);
    unsigned of = rows->are_counts ? OF_COUNTS : rows->are_samples ? OF_SAMPLES : OF_ENTRIES;
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].of & of)
            dw_data_number(data, members[i].name, columns[i]->get(row, &metric));
    if (of == OF_ENTRIES)
        dw_data_number(data, "open_ns", metric.open_total);
}

static void put_head(struct dw_out *out, enum dw_by by)
{
    static const char *const keys[][2] = {[DW_BY_REGION] = {"path"},
                                          [DW_BY_THREAD] = {"thread", "path"},
                                          [DW_BY_PROCESS] = {"process", "path"},
                                          [DW_BY_PATH] = {"path"},
                                          [DW_BY_NAME] = {"name"}};
    struct dw_data data;
    dw_data_begin(&data, out, false);
    dw_data_keys(&data, keys[by], keys[by][1] ? 2 : 1);
}

static void put_rows(struct dw_out *out, const struct dw_rows *rows, const struct places *places)
{
    struct dw_data data;
    const struct dw_column *columns[MEMBERS];
    for (size_t i = 0; i < MEMBERS; i++)
        columns[i] = dw_column_find(members[i].column);
    begin(&data, out, "rows");
    for (uint32_t i = 0; i < rows->count && !out->error; i++) {
        dw_data_row(&data);
        put_identity(&data, rows, &rows->rows[i], places);
        put_values(&data, rows, &rows->rows[i], columns);
    }
    dw_data_end_rows(&data);
    dw_out_printf(out, ",\n  \"rows_left_out\": %u", rows->left_out);
}

struct counter {
    struct dw_string name;
    uint64_t total; /* a signed sum, in two's complement */
    uint64_t count;
    bool shown;
};

static struct counter *sum_counters(const struct dw_profile *profile)
{
    struct counter *counters = calloc(profile->frames.count, sizeof *counters);
    for (dw_frame_id i = 0; counters && i < profile->frames.count; i++) {
        const struct dw_frame *frame = &profile->frames.frames[i];
        counters[i].name = dw_profile_string(profile, frame->name);
        counters[i].shown = frame->kind == DW_FRAME_COUNTER;
    }
    for (uint32_t t = 0; counters && t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count; i++) {
            const struct dw_value_row *row = &values->rows[i];
            const struct dw_frame *frame = dw_profile_path_frame(profile, row->path);
            struct counter *counter = &counters[frame - profile->frames.frames];
            counter->total += dw_value_get(values, row, DW_TOTAL);
            counter->count += dw_value_get(values, row, DW_COUNT);
        }
    }
    return counters;
}

static int compare_counters(const void *left, const void *right)
{
    const struct counter *a = left, *b = right;
    return dw_string_compare(a->name, b->name);
}

static int put_counters(struct dw_out *out, const struct dw_profile *profile)
{
    struct counter *counters = sum_counters(profile);
    struct dw_data data;
    if (!counters)
        return DW_ERR_MEMORY;
    qsort(counters, profile->frames.count, sizeof *counters, compare_counters);
    begin(&data, out, "counters");
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        if (!counters[i].shown)
            continue;
        dw_data_row(&data);
        dw_data_text(&data, "name", counters[i].name);
        dw_out_i64(dw_data_cell(&data, "total"), (int64_t)counters[i].total);
        dw_data_number(&data, "count", counters[i].count);
    }
    dw_data_end_rows(&data);
    free(counters);
    return 0;
}

/* Nothing when no lines were measured. */
static int put_lines(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_line_list list;
    struct dw_data data;
    if (!dw_lines_are_in(profile))
        return 0;
    int error = dw_line_list_make(profile, NULL, &list);
    if (error)
        return error;
    begin(&data, out, "lines");
    dw_line_data_put_rows(&data, &list, true);
    dw_data_end_rows(&data);
    dw_line_list_release(&list);
    return 0;
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_rows rows = {0};
    struct places places;
    int error = places_init(&places, profile);
    if (!error)
        error = dw_rows_make(profile, options, &rows);
    if (!error) {
        put_head(out, options->by);
        put_processes(out, profile, &places);
        put_threads(out, profile, &places);
        put_rows(out, &rows, &places);
        error = put_counters(out, profile);
        if (!error && (rows.are_samples || dw_lines_are_watched(profile)))
            error = put_lines(out, profile);
        if (!error && profile->timing_count)
            error = dw_timings_put_json(out, profile);
        if (rows.are_samples)
            dw_notes_put_json_sampling(out, profile);
        dw_notes_put_json_losses(out, profile);
        dw_out_text(out, "\n}\n");
    }
    dw_rows_release(&rows);
    places_release(&places);
    return error;
}

const struct dw_lens dw_lens_json = {
    .name = "json",
    .summary = "the report as one JSON document",
    .extension = ".json",
    .shows_lines = true,
    .shows_timings = true,
    .shows_places = true,
    .write = write_json,
};
