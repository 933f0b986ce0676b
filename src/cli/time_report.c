/* SPDX-License-Identifier: MIT
 * `dwell report --by time`: series, counters of the timeline among them. */
#include "cli/time_report.h"

#include "cli/cli.h"
#include "lens/plot/series_report.h"
#include "log/reader.h"

#include <stdio.h>

static const struct dw_lens *find_format(const char *name)
{
    static const struct dw_lens *const lenses[] = {&dw_series_table, &dw_series_csv,
                                                   &dw_series_json};
    for (size_t i = 0; i < sizeof lenses / sizeof *lenses; i++)
        if (!strcmp(lenses[i]->name, name))
            return lenses[i];
    return NULL;
}

int dw_time_report_show(const struct dw_profile *profile, const char *format, const char *limit,
                        const char *file)
{
    const struct dw_lens *lens = find_format(format);
    const char *rest = "";
    double rows = 0;
    if (!lens)
        return dw_cli_usage("--by time has the formats table, csv and json, not '%s'", format);
    if (limit && (!dw_cli_parse_number(limit, &rows, &rest) || *rest || rows > UINT32_MAX))
        return dw_cli_usage("--limit needs a number of rows, not '%s'", limit);
    if (!profile->series_count) {
        fprintf(stderr,
                "dwell: %s: holds nothing over time; record it with 'dwell run --memory', or "
                "counters with --timeline\n",
                file);
        return DW_EXIT_TROUBLE;
    }
    struct dw_lens_options options = {.limit = (size_t)rows};
    return dw_cli_write(profile, lens, &options, file, NULL);
}

int dw_time_report(char **files, int count, const char *format, const char *limit)
{
    int status = 0;
    struct dw_native_words native = {0};
    struct dw_profile *profile =
        dw_cli_load(files, count, DW_READ_EVENTS | DW_READ_NO_SOURCES, &native, &status);
    if (!profile)
        return status;
    int error = dw_series_add_counters(profile);
    int shown = error ? dw_cli_error(files[0], error)
                      : dw_time_report_show(profile, format, limit, files[0]);
    dw_profile_free(profile);
    return shown ? shown : status;
}
