/* SPDX-License-Identifier: MIT
 * Which of samples and regions a command shows, of recordings that hold both. */
#include "cli/cli.h"

#include "lens/view/column.h"

#include <stdio.h>

static bool is_of_entries(const char *column_id)
{
    const struct dw_column *column = dw_column_find(column_id);
    return column && column->of_entries;
}

static bool has_entry_column(const char *columns)
{
    char id[64];
    int used;
    for (; sscanf(columns, " %63[^, ]%n", id, &used) == 1; columns += strspn(columns, ", ")) {
        if (is_of_entries(id))
            return true;
        columns += used;
    }
    return false;
}

enum dw_part dw_cli_part_of(const struct dw_report_words *words)
{
    if (words->by && !strcmp(words->by, "region"))
        return DW_PART_ENTRIES;
    if (words->by && dw_sample_by_is_known(words->by))
        return DW_PART_SAMPLES;
    if ((words->sort && is_of_entries(words->sort)) ||
        (words->columns && has_entry_column(words->columns)))
        return DW_PART_ENTRIES;
    bool is_of_samples = words->sort && !dw_column_find(words->sort);
    return is_of_samples ? DW_PART_SAMPLES : DW_PART_BOTH;
}

const char *dw_cli_heading(const struct dw_profile *profile)
{
    return profile->lacks_entries         ? "Samples: where threads spent their time\n"
           : !profile->lacks_samples      ? ""
           : dw_functions_are_in(profile) ? "\nCalls: all of them, from entry to return\n"
                                          : "\nRegions: what the program marked, from entry to "
                                            "exit\n";
}

void dw_cli_say_left_out(const struct dw_profile *profile)
{
    if (profile->lacks_entries)
        fputs("dwell: these are the samples; '--by region' has the regions\n", stderr);
}
