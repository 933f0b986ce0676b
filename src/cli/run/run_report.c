/* SPDX-License-Identifier: MIT
 * The shortest comes first: one line on how it went, then as many rows as a screen has room
 * for, then what to type next. */
#include "cli/run/run_report.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/run/run_lines.h"
#include "cli/run/run_text.h"
#include "log/reader.h"

#include <errno.h>
#include <unistd.h>

#define ROWS 20         /* when it is not known how many lines the terminal has */
#define ROWS_MIN 3      /* in however small a terminal */
#define OTHER_LINES 13  /* of a report, beside its rows, and the prompt after it */
#define HEADING_LINES 5 /* of a table of regions below one of samples */

struct reporting {
    const struct dw_run_end *end;
    struct dw_recordings recordings;
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
    struct dw_sample_options samples = {.limit = rows};
    struct dw_lens_options options = {.samples = &samples, .width = dw_cli_width(STDERR_FILENO)};
    dw_sample_table.write(profile, &options, out);
}

static void put_calls(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_restriction first = {.kind = DW_RESTRICT_COUNT, .count = rows};
    struct dw_function_options functions = {.restrictions = &first, .restriction_count = 1};
    struct dw_lens_options options = {.family = DW_FAMILY_CALLS, .functions = &functions};
    dw_function_table.write(profile, &options, out);
}

static void put_regions(struct dw_out *out, const struct dw_profile *profile, size_t rows)
{
    struct dw_lens_options options = {
        .family = DW_FAMILY_REGIONS, .limit = rows, .width = dw_cli_width(STDERR_FILENO)};
    dw_lens_find("table")->write(profile, &options, out);
}

static enum dw_run_kind kind_of(const struct dw_profile *profile, const struct dw_run_end *end)
{
    if (end->lines)
        return dw_lines_are_in(profile) ? DW_RUN_LINES : DW_RUN_NOTHING;
    if (end->samples)
        return DW_RUN_SAMPLES;
    return dw_family_is_in(profile, DW_FAMILY_CALLS)     ? DW_RUN_CALLS
           : dw_family_is_in(profile, DW_FAMILY_REGIONS) ? DW_RUN_REGIONS
                                                         : DW_RUN_NOTHING;
}

static void put_table(const struct reporting *reporting, const struct dw_profile *profile,
                      enum dw_run_kind kind, struct dw_out *out)
{
    switch (kind) {
    case DW_RUN_SAMPLES:
        if (!dw_run_is_short(reporting->end, &reporting->samples))
            put_samples(out, profile, reporting->rows);
        break;
    case DW_RUN_LINES:
        dw_run_put_lines(out, profile, reporting->end->callees, reporting->rows);
        break;
    case DW_RUN_CALLS: put_calls(out, profile, reporting->rows); break;
    case DW_RUN_REGIONS:
        if (!reporting->is_reported)
            put_regions(out, profile, reporting->rows);
        break;
    case DW_RUN_NOTHING: dw_run_put_missing(out, reporting->end);
    }
}

static void put_report(struct reporting *reporting, const struct dw_profile *profile)
{
    struct dw_out out;
    enum dw_run_kind kind = kind_of(profile, reporting->end);
    bool has_regions = kind == DW_RUN_SAMPLES && !reporting->is_reported &&
                       dw_family_is_in(profile, DW_FAMILY_REGIONS);
    bool is_short = dw_run_is_short(reporting->end, &reporting->samples);
    size_t of_regions = is_short ? reporting->rows : reporting->rows / 3;
    size_t taken = of_regions + HEADING_LINES;
    if (has_regions)
        reporting->rows = reporting->rows > taken + ROWS_MIN ? reporting->rows - taken : ROWS_MIN;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_run_put_ending(&out, reporting->end, &reporting->samples, reporting->recordings.children);
    if (has_regions && !is_short)
        dw_out_text(&out, dw_cli_heading(DW_FAMILY_SAMPLES));
    put_table(reporting, profile, kind, &out);
    if (has_regions) {
        dw_out_char(&out, '\n');
        dw_out_text(&out, dw_cli_heading(DW_FAMILY_REGIONS));
        put_regions(&out, profile, of_regions);
    }
    if (kind != DW_RUN_NOTHING)
        dw_run_put_next(&out, reporting->end, kind, &reporting->samples, &reporting->recordings);
    else if (reporting->end->is_name_ours && !reporting->recordings.children)
        unlink(reporting->end->out_file);
    dw_out_close(&out);
}

/* Its own table tells of the process alone, not of its children. */
static bool has_reported(const struct dw_profile *profile, const struct dw_recordings *recordings)
{
    return profile->process_count && profile->processes[0].is_reported && !recordings->children;
}

static void load_and_report(struct reporting *reporting, struct dw_profile **profile)
{
    const char *file = reporting->end->out_file;
    int error = dw_recordings_load(&reporting->recordings, profile);
    if (!error) {
        reporting->is_reported = has_reported(*profile, &reporting->recordings);
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
    struct reporting reporting = {.end = end,
                                  .recordings = {.out_file = end->out_file,
                                                 .since = end->since,
                                                 .flags = end->lines ? 0 : DW_READ_NO_SOURCES},
                                  .rows = rows_that_fit()};
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
