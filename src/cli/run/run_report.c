/* SPDX-License-Identifier: MIT
 * The shortest comes first: one line on how it went, then as many rows as a screen has room
 * for, then what to type next. */
#include "cli/run/run_report.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/run/run_lines.h"
#include "cli/run/run_text.h"
#include "lens/plot/plot.h"
#include "lens/table/view_report.h"
#include "log/reader.h"

#include <errno.h>
#include <unistd.h>

#define ROWS 20         /* when it is not known how many lines the terminal has */
#define ROWS_MIN 3      /* in however small a terminal */
#define OTHER_LINES 13  /* of a report, beside its rows, and the prompt after it */
#define HEADING_LINES 5 /* of a table of regions below one of samples */

struct reporting {
    const struct dw_run_end *end;
    unsigned flags; /* of reading: log/reader.h */
    struct dw_run_samples samples;
    bool is_reported; /* by the program: its regions */
    size_t rows;      /* at most */
};

static size_t rows_that_fit(void)
{
    size_t height = dw_cli_height(STDERR_FILENO);
    if (!height)
        return ROWS;
    return height > OTHER_LINES + ROWS_MIN ? height - OTHER_LINES : ROWS_MIN;
}

static void put_samples(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = rows};
    struct dw_view_options view =
        dw_view_of_samples("function", (struct dw_restrictions){&first, 1});
    struct dw_lens_options options = {.view = &view, .width = dw_cli_width(STDERR_FILENO)};
    dw_view_table.write(profile, &options, out);
}

static void put_calls(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = rows};
    struct dw_function_options functions = {.restrictions = {&first, 1}};
    struct dw_lens_options options = {.family = DW_FAMILY_CALLS, .functions = &functions};
    dw_function_table.write(profile, &options, out);
}

static void put_memory(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_lens_options options = {.limit = rows / 2, .width = dw_cli_width(STDERR_FILENO)};
    dw_memory_table.write(profile, &options, out);
}

static void put_regions(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_lens_options options = {
        .family = DW_FAMILY_REGIONS, .limit = rows, .width = dw_cli_width(STDERR_FILENO)};
    dw_lens_find("table")->write(profile, &options, out);
}

/* Whether a probe has something to show. Samples show too little when there are few of them. */
static bool has(const struct reporting *reporting, const struct dw_profile *profile,
                enum dw_run_kind kind)
{
    const struct dw_run_end *end = reporting->end;
    switch (kind) {
    case DW_RUN_SAMPLES: return end->samples && !dw_run_is_short(end, &reporting->samples);
    case DW_RUN_CALLS: return dw_family_is_in(profile, DW_FAMILY_CALLS);
    case DW_RUN_MEMORY: return dw_family_is_in(profile, DW_FAMILY_MEMORY);
    case DW_RUN_REGIONS: return dw_family_is_in(profile, DW_FAMILY_REGIONS);
    case DW_RUN_LINES: return end->lines && dw_lines_are_watched(profile);
    case DW_RUN_KINDS: break;
    }
    return false;
}

static void put_section(const struct reporting *reporting, const struct dw_profile *profile,
                        enum dw_run_kind kind, size_t rows, struct dw_out *out)
{
    switch (kind) {
    case DW_RUN_SAMPLES: put_samples(out, profile, rows); break;
    case DW_RUN_CALLS: put_calls(out, profile, rows); break;
    case DW_RUN_MEMORY: put_memory(out, profile, rows); break;
    case DW_RUN_REGIONS: put_regions(out, profile, rows); break;
    case DW_RUN_LINES: dw_run_put_lines(out, profile, reporting->end->callees, rows); break;
    case DW_RUN_KINDS: break;
    }
}

static const char *heading(enum dw_run_kind kind)
{
    switch (kind) {
    case DW_RUN_SAMPLES: return dw_cli_heading(DW_FAMILY_SAMPLES);
    case DW_RUN_CALLS: return dw_cli_heading(DW_FAMILY_CALLS);
    case DW_RUN_MEMORY: return dw_cli_heading(DW_FAMILY_MEMORY);
    case DW_RUN_REGIONS: return dw_cli_heading(DW_FAMILY_REGIONS);
    case DW_RUN_LINES:
    case DW_RUN_KINDS: break;
    }
    return DW_LINES_HEADING;
}

/* What was recorded, in the order of the report. */
struct sections {
    enum dw_run_kind kinds[DW_RUN_KINDS];
    size_t count;
};

static struct sections sections_of(const struct reporting *reporting,
                                   const struct dw_profile *profile)
{
    struct sections sections = {.count = 0};
    for (enum dw_run_kind kind = 0; kind < DW_RUN_KINDS; kind++) {
        bool is_told = kind == DW_RUN_REGIONS && reporting->is_reported;
        if (!is_told && has(reporting, profile, kind))
            sections.kinds[sections.count++] = kind;
    }
    return sections;
}

/* What to go on with: what comes first. A few samples do if nothing exact is there. */
static enum dw_run_kind first_kind(const struct reporting *reporting,
                                   const struct sections *sections)
{
    const struct dw_run_end *end = reporting->end;
    bool is_exact = sections->count && (end->calls || end->lines);
    if (end->samples && !(dw_run_is_short(end, &reporting->samples) && is_exact))
        return DW_RUN_SAMPLES;
    return sections->count ? sections->kinds[0] : DW_RUN_REGIONS;
}

/* The first section has what room the others leave. */
static void put_sections(const struct reporting *reporting, const struct dw_profile *profile,
                         const struct sections *sections, struct dw_out *out)
{
    size_t others = sections->count ? sections->count - 1 : 0, rows = reporting->rows;
    size_t of_others = rows / (sections->count + 1);
    size_t taken = others * (of_others + HEADING_LINES);
    size_t least = of_others > ROWS_MIN ? of_others : ROWS_MIN;
    size_t of_first = rows > taken + ROWS_MIN ? rows - taken : least;
    for (size_t i = 0; i < sections->count; i++) {
        enum dw_run_kind kind = sections->kinds[i];
        if (i && sections->kinds[i - 1] != DW_RUN_CALLS) /* which end with empty lines */
            dw_out_char(out, '\n');
        if (others || (reporting->end->samples && kind != DW_RUN_SAMPLES))
            dw_out_text(out, heading(kind));
        put_section(reporting, profile, kind, !others ? rows : i ? of_others : of_first, out);
    }
}

/* Says what was asked for by name and is not there. Returns whether there is nothing at all. */
static bool put_missing(const struct reporting *reporting, const struct dw_profile *profile,
                        struct dw_out *out)
{
    const struct dw_run_end *end = reporting->end;
    bool no_lines = end->lines && !has(reporting, profile, DW_RUN_LINES);
    bool no_regions = end->regions && !has(reporting, profile, DW_RUN_REGIONS);
    if (no_regions)
        dw_run_put_no_regions(out);
    if (no_lines)
        dw_run_put_no_lines(out, end);
    return no_lines + no_regions ==
           end->lines + end->regions + end->calls + end->samples + end->memory;
}

/* A line about memory over time, where that was recorded. */
static void put_peak(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_chart chart;
    if (!profile->series_count || dw_chart_init(&chart, profile, &(struct dw_plot_options){0}))
        return;
    dw_out_text(out, "dwell: memory: ");
    dw_plot_put_peak(out, &chart);
    dw_out_char(out, '\n');
    dw_chart_release(&chart);
}

static void put_report(struct reporting *reporting, const struct dw_profile *profile)
{
    struct dw_out out;
    struct sections sections = sections_of(reporting, profile);
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_run_put_ending(&out, reporting->end, &reporting->samples,
                      reporting->end->recordings->children);
    put_peak(&out, profile);
    put_sections(reporting, profile, &sections, &out);
    if (!put_missing(reporting, profile, &out))
        dw_run_put_next(&out, reporting->end, first_kind(reporting, &sections),
                        &reporting->samples);
    else if (reporting->end->is_name_ours && !reporting->end->recordings->children)
        unlink(reporting->end->out_file);
    dw_run_put_left_out(&out, reporting->end->recordings);
    dw_out_close(&out);
}

/* The program's own table shows the process alone, without its children. */
static bool has_reported(const struct dw_profile *profile, const struct dw_recordings *recordings)
{
    return profile->process_count && profile->processes[0].is_reported && !recordings->children;
}

static void load_and_report(struct reporting *reporting, struct dw_profile **profile)
{
    const char *file = reporting->end->out_file;
    int error = dw_recordings_load(reporting->end->recordings, reporting->flags, profile);
    if (!error) {
        reporting->is_reported = has_reported(*profile, reporting->end->recordings);
        reporting->samples = dw_run_samples_of(*profile);
        error = dw_cli_make_showable(*profile, &(struct dw_native_words){0});
    }
    if (!error)
        put_report(reporting, *profile);
    else if (error == DW_ERR_IO && errno == ENOENT)
        dw_run_report_nothing(reporting->end,
                              "the recording is not there: it was removed, or the program never "
                              "began to record");
    else
        dw_cli_error(file, error);
}

void dw_run_report(const struct dw_run_end *end)
{
    struct reporting reporting = {
        .end = end, .flags = end->lines ? 0 : DW_READ_NO_SOURCES, .rows = rows_that_fit()};
    struct dw_profile *profile;
    load_and_report(&reporting, &profile);
    dw_profile_free(profile);
}

void dw_run_report_nothing(const struct dw_run_end *end, const char *reason)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_run_put_times(&out, end);
    dw_out_printf(&out, "; %s\n", reason);
    dw_out_close(&out);
}
