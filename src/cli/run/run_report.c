/* SPDX-License-Identifier: MIT
 * The shortest comes first: one line on how it went, then as many rows as a screen has room
 * for, then what to type next. */
#include "cli/run/run_report.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/run/run_lines.h"
#include "cli/run/run_text.h"
#include "lens/plot/chart.h"
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

/* What a kind is of, and the lens that shows it. Lines are of no family. */
static const struct {
    enum dw_family family;
    const struct dw_lens *lens; /* NULL: the usual table */
} kinds[DW_RUN_KINDS] = {
    [DW_RUN_SAMPLES] = {DW_FAMILY_SAMPLES, &dw_view_table},
    [DW_RUN_CALLS] = {DW_FAMILY_CALLS, &dw_function_table},
    [DW_RUN_MEMORY] = {DW_FAMILY_MEMORY, &dw_memory_table},
    [DW_RUN_REGIONS] = {DW_FAMILY_REGIONS, NULL},
};

/* Whether a probe has something to show. Samples show too little when there are few of them. */
static bool has(const struct reporting *reporting, const struct dw_profile *profile,
                enum dw_run_kind kind)
{
    const struct dw_run_end *end = reporting->end;
    if (kind == DW_RUN_SAMPLES)
        return end->asked->sample && !dw_run_is_short(end, &reporting->samples);
    if (kind == DW_RUN_LINES)
        return end->asked->lines && dw_lines_are_watched(profile);
    return dw_family_is_in(profile, kinds[kind].family);
}

static void put_section(const struct reporting *reporting, const struct dw_profile *profile,
                        enum dw_run_kind kind, size_t rows, struct dw_out *out)
{
    const struct dw_lens *lens = kinds[kind].lens ? kinds[kind].lens : dw_lens_find("table");
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = rows};
    struct dw_restrictions restrictions = {&first, 1};
    struct dw_view_options view = dw_view_of_samples("function", restrictions);
    struct dw_function_options functions = {.restrictions = restrictions};
    struct dw_lens_options options = {.family = kinds[kind].family,
                                      .limit = kind == DW_RUN_MEMORY ? rows / 2 : rows,
                                      .width = dw_cli_width(STDERR_FILENO),
                                      .functions = &functions,
                                      .view = &view};
    if (kind == DW_RUN_LINES)
        dw_run_put_lines(out, profile, reporting->end->asked->callees, rows);
    else
        lens->write(profile, &options, out);
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
    bool is_exact = sections->count && (end->asked->calls || end->asked->lines);
    if (end->asked->sample && !(dw_run_is_short(end, &reporting->samples) && is_exact))
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
        if (others || (reporting->end->asked->sample && kind != DW_RUN_SAMPLES))
            dw_out_text(out, kind == DW_RUN_LINES ? DW_LINES_HEADING
                                                  : dw_cli_heading(kinds[kind].family));
        put_section(reporting, profile, kind, !others ? rows : i ? of_others : of_first, out);
    }
}

/* Says what was asked for by name and is not there. Returns whether there is nothing at all. */
static bool put_missing(const struct reporting *reporting, const struct dw_profile *profile,
                        struct dw_out *out)
{
    const struct dw_run_end *end = reporting->end;
    bool no_lines = end->asked->lines && !has(reporting, profile, DW_RUN_LINES);
    bool no_regions = end->asked->names_regions && !has(reporting, profile, DW_RUN_REGIONS);
    if (no_regions)
        dw_run_put_no_regions(out);
    if (no_lines)
        dw_run_put_no_lines(out, end);
    return no_lines + no_regions == end->asked->lines + end->asked->names_regions +
                                        end->asked->calls + end->asked->sample + end->asked->memory;
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
    else if (!reporting->end->asked->out && !reporting->end->recordings->children)
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
        .end = end, .flags = end->asked->lines ? 0 : DW_READ_NO_SOURCES, .rows = rows_that_fit()};
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
