/* SPDX-License-Identifier: MIT
 * Gauges that were read together stand side by side. */
#include "lens/plot/series_report.h"

#include "base/error.h"
#include "lens/plot/chart.h"
#include "lens/plot/scale.h"
#include "lens/view/measured.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

#include <inttypes.h>
#include <stdlib.h>

#define USUAL_ROWS 30
#define CELL 12

/* Series with points at the same times, one after the other in the profile. */
struct group {
    const struct dw_series *series;
    uint32_t count;
};

static bool are_together(const struct dw_series *a, const struct dw_series *b)
{
    if (a->process != b->process || a->thread != b->thread || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->points[i].time_ns != b->points[i].time_ns)
            return false;
    return true;
}

static bool next_group(const struct dw_profile *profile, uint32_t *at, struct group *group)
{
    while (*at < profile->series_count && !profile->series[*at].count)
        ++*at;
    if (*at >= profile->series_count)
        return false;
    *group = (struct group){.series = &profile->series[*at]};
    while (*at < profile->series_count && are_together(group->series, &profile->series[*at]))
        group->count++, ++*at;
    return true;
}

/* What all rows need to know. */
struct common {
    uint64_t start_ns; /* the first reading */
    bool has_hosts;    /* processes ran on several */
};

static struct common common_of(const struct dw_profile *profile)
{
    struct common common = {UINT64_MAX, dw_roster_has_hosts(profile)};
    for (uint32_t i = 0; i < profile->series_count; i++)
        if (profile->series[i].count && profile->series[i].points[0].time_ns < common.start_ns)
            common.start_ns = profile->series[i].points[0].time_ns;
    return common;
}

static bool is_cpu(const struct dw_series *series)
{
    return series->is_total && series->unit == DW_UNIT_NS;
}

static const char *name_of(const struct dw_profile *profile, const struct dw_series *series)
{
    return dw_profile_string(profile, series->name).bytes;
}

static void put_owner(struct dw_out *out, const struct dw_profile *profile,
                      const struct dw_series *series, bool with_host)
{
    if (series->thread)
        dw_roster_put_thread_of(out, profile, series->thread - 1, with_host);
    else
        dw_roster_put_program(out, profile, series->process, with_host);
}

static void put_cell(struct dw_out *out, struct dw_out *cell)
{
    size_t size = cell->buffer.size;
    dw_out_repeat(out, ' ', size < CELL ? CELL - size : 1);
    dw_out_write(out, cell->buffer.data, size);
    dw_buffer_clear(&cell->buffer);
}

static void put_row(struct dw_out *out, const struct group *group, uint32_t at, uint32_t before,
                    uint64_t start_ns)
{
    struct dw_out cell;
    dw_out_init_memory(&cell);
    dw_put_moment(&cell, (double)(group->series->points[at].time_ns - start_ns), 1e6);
    put_cell(out, &cell);
    for (uint32_t i = 0; i < group->count; i++) {
        const struct dw_series *series = &group->series[i];
        double passed_ns = (double)(series->points[at].time_ns - series->points[before].time_ns);
        double used_ns = (double)(series->points[at].value - series->points[before].value);
        if (is_cpu(series))
            dw_out_printf(&cell, "%.0f%%", passed_ns > 0 ? 100 * used_ns / passed_ns : 0.0);
        else
            dw_put_amount(&cell, (double)series->points[at].value, 0, series->unit);
        put_cell(out, &cell);
    }
    dw_out_char(out, '\n');
    dw_out_close_into(&cell, out);
}

/* Each row stands for as many readings as any other, and shows the one that is highest. */
static void put_rows(struct dw_out *out, const struct group *group, uint64_t rows,
                     uint64_t start_ns)
{
    const struct dw_series *first = group->series;
    uint32_t before = 0;
    for (uint64_t row = 0; row < rows; row++) {
        uint32_t from = (uint32_t)(row * first->count / rows);
        uint32_t to = (uint32_t)((row + 1) * first->count / rows), highest = from;
        for (uint32_t i = from; i < to; i++)
            if (first->points[i].value > first->points[highest].value)
                highest = i;
        put_row(out, group, highest, before, start_ns);
        before = highest;
    }
}

static void put_group(struct dw_out *out, const struct dw_profile *profile,
                      const struct group *group, size_t limit, struct common common)
{
    uint64_t most = limit ? limit : USUAL_ROWS;
    uint64_t rows = group->series->count < most ? group->series->count : most;
    put_owner(out, profile, group->series, common.has_hosts);
    dw_out_printf(out, ": %" PRIu32 " readings", group->series->count);
    if (rows < group->series->count)
        dw_out_printf(out, ", of which the highest in each of %" PRIu64 " stretches are shown",
                      rows);
    dw_out_printf(out, "\n%*s", CELL, "time");
    for (uint32_t i = 0; i < group->count; i++)
        dw_out_printf(out, "%*s", CELL, name_of(profile, &group->series[i]));
    dw_out_char(out, '\n');
    put_rows(out, group, rows, common.start_ns);
}

static int put_summary(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_chart chart;
    int error = dw_chart_init(&chart, profile, &(struct dw_plot_options){0});
    if (error)
        return error == DW_ERR_NO_SAMPLES ? 0 : error;
    dw_plot_put_peak(out, &chart);
    dw_out_text(out, "\n\n");
    dw_chart_release(&chart);
    return 0;
}

static int write_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct group group;
    struct common common = common_of(profile);
    int error = put_summary(out, profile);
    for (uint32_t at = 0, groups = 0; !error && next_group(profile, &at, &group); groups++) {
        dw_out_text(out, groups ? "\n" : "");
        put_group(out, profile, &group, options->limit, common);
    }
    dw_notes_put_losses(out, profile, "");
    return error;
}

/* A column for each name. */
struct names {
    dw_string_id *ids;
    uint32_t count;
};

static int list_names(const struct dw_profile *profile, struct names *names)
{
    bool *is_listed = calloc(profile->strings.count + 1u, sizeof *is_listed);
    *names = (struct names){.ids = calloc(profile->series_count + 1u, sizeof *names->ids)};
    bool has_room = is_listed && names->ids;
    for (uint32_t i = 0; has_room && i < profile->series_count; i++) {
        dw_string_id name = profile->series[i].name;
        if (!is_listed[name])
            names->ids[names->count++] = name;
        is_listed[name] = true;
    }
    free(is_listed);
    return has_room ? 0 : DW_ERR_MEMORY;
}

static const struct dw_series *find_in(const struct group *group, dw_string_id name)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (group->series[i].name == name)
            return &group->series[i];
    return NULL;
}

static void put_csv_group(struct dw_out *out, const struct dw_profile *profile,
                          const struct group *group, const struct names *names,
                          struct common common)
{
    struct dw_out owner;
    dw_out_init_memory(&owner);
    put_owner(&owner, profile, group->series, common.has_hosts);
    for (uint32_t at = 0; at < group->series->count && !out->error; at++) {
        uint64_t since_ns = group->series->points[at].time_ns - common.start_ns;
        dw_out_csv_field(out, owner.buffer.data, owner.buffer.size);
        dw_out_printf(out, ",%" PRIu64 ".%09" PRIu64, since_ns / 1000000000u,
                      since_ns % 1000000000u);
        for (uint32_t i = 0; i < names->count; i++) {
            const struct dw_series *series = find_in(group, names->ids[i]);
            dw_out_char(out, ',');
            if (series)
                dw_out_i64(out, series->points[at].value);
        }
        dw_out_char(out, '\n');
    }
    dw_out_close_into(&owner, out);
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct group group;
    struct names names;
    struct common common = common_of(profile);
    (void)options;
    int error = list_names(profile, &names);
    dw_out_text(out, "of,seconds");
    for (uint32_t i = 0; i < names.count; i++) {
        struct dw_string name = dw_profile_string(profile, names.ids[i]);
        dw_out_char(out, ',');
        dw_out_csv_field(out, name.bytes, name.size);
    }
    dw_out_char(out, '\n');
    for (uint32_t at = 0; !error && next_group(profile, &at, &group);)
        put_csv_group(out, profile, &group, &names, common);
    free(names.ids);
    return error;
}

static void put_json_series(struct dw_out *out, const struct dw_profile *profile,
                            const struct dw_series *series, struct common common)
{
    static const char *const units[DW_UNITS] = {"count", "ns", "bytes", "ticks"};
    struct dw_out owner;
    struct dw_string name = dw_profile_string(profile, series->name);
    dw_out_init_memory(&owner);
    put_owner(&owner, profile, series, common.has_hosts);
    dw_out_text(out, "{\"of\": ");
    dw_out_json_string(out, owner.buffer.data, owner.buffer.size);
    dw_out_close_into(&owner, out);
    dw_out_printf(out,
                  ", \"pid\": %" PRIu64 ", \"name\": ", profile->processes[series->process].pid);
    dw_out_json_string(out, name.bytes, name.size);
    dw_out_printf(out, ", \"unit\": \"%s\", \"is_total\": %s,\n     \"times_ns\": [",
                  units[series->unit], series->is_total ? "true" : "false");
    for (uint32_t i = 0; i < series->count; i++)
        dw_out_printf(out, "%s%" PRIu64, i ? "," : "", series->points[i].time_ns - common.start_ns);
    dw_out_text(out, "],\n     \"values\": [");
    for (uint32_t i = 0; i < series->count; i++)
        dw_out_printf(out, "%s%" PRId64, i ? "," : "", series->points[i].value);
    dw_out_text(out, "]}");
}

static void put_json_peak(struct dw_out *out, const char *name, const struct dw_chart *chart,
                          const struct dw_curve *curve)
{
    dw_out_printf(out, ",\n  \"%s\": {\"value\": %" PRId64 ", \"time_ns\": %" PRIu64 "}", name,
                  curve->peak.value, curve->peak.time_ns - chart->start_ns);
}

/* Of the first gauge: RSS, where there is one. */
static int put_json_peaks(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_chart chart;
    int error = dw_chart_init(&chart, profile, &(struct dw_plot_options){0});
    if (error)
        return error == DW_ERR_NO_SAMPLES ? 0 : error;
    put_json_peak(out, "peak", &chart, &chart.curves[0]);
    put_json_peak(out, "peak_of_sum", &chart, &chart.sum);
    dw_chart_release(&chart);
    return 0;
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct common common = common_of(profile);
    bool has_any = false;
    (void)options;
    dw_out_printf(out,
                  "{\n  \"dwell\": \"" DW_VERSION
                  "\",\n  \"over_time\": 1,\n  \"start_ns\": %" PRIu64 ",\n  \"series\": [",
                  common.start_ns == UINT64_MAX ? 0 : common.start_ns);
    for (uint32_t i = 0; i < profile->series_count && !out->error; i++) {
        if (!profile->series[i].count)
            continue;
        dw_out_text(out, has_any ? ",\n    " : "\n    ");
        put_json_series(out, profile, &profile->series[i], common);
        has_any = true;
    }
    dw_out_char(out, ']');
    int error = put_json_peaks(out, profile);
    dw_notes_put_json_losses(out, profile);
    dw_out_text(out, "\n}\n");
    return error;
}

bool dw_series_are_all(const struct dw_profile *profile)
{
    return profile->series_count && !dw_profile_measures(profile) && !profile->lines.count &&
           !profile->timing_count;
}

const struct dw_lens dw_series_table = {.name = "table", .write = write_table};
const struct dw_lens dw_series_csv = {.name = "csv", .lacks_notes = true, .write = write_csv};
const struct dw_lens dw_series_json = {.name = "json", .write = write_json};
