/* SPDX-License-Identifier: MIT
 * Which of samples, calls and regions a command shows, of recordings that hold several. */
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

static bool asks_for_entries(const struct dw_report_words *words)
{
    if (words->by && !strcmp(words->by, "region"))
        return true;
    if (words->by && dw_sample_by_is_known(words->by))
        return false;
    return (words->sort && is_of_entries(words->sort)) ||
           (words->columns && has_entry_column(words->columns));
}

static enum dw_family entries_of(const struct dw_profile *profile)
{
    return dw_family_is_in(profile, DW_FAMILY_REGIONS) ? DW_FAMILY_REGIONS
           : dw_family_is_in(profile, DW_FAMILY_CALLS) ? DW_FAMILY_CALLS
                                                       : DW_FAMILY_ANY;
}

enum dw_family dw_cli_family_of(const struct dw_report_words *words,
                                const struct dw_profile *profile)
{
    return asks_for_entries(words) ? entries_of(profile) : DW_FAMILY_ANY;
}

bool dw_cli_asks_for_family(const struct dw_report_words *words)
{
    bool is_of_samples = (words->by && dw_sample_by_is_known(words->by)) ||
                         (words->sort && !dw_column_find(words->sort));
    return asks_for_entries(words) || is_of_samples;
}

uint32_t dw_cli_families(const struct dw_profile *profile)
{
    uint32_t count = 0;
    for (enum dw_family family = DW_FAMILY_SAMPLES; family < DW_FAMILIES; family++)
        count += dw_family_is_in(profile, family);
    return count;
}

const char *dw_cli_heading(enum dw_family family)
{
    static const char *const headings[DW_FAMILIES] = {
        [DW_FAMILY_SAMPLES] = "Samples: where threads spent their time\n",
        [DW_FAMILY_CALLS] = "Calls: all of them, from entry to return\n",
        [DW_FAMILY_REGIONS] = "Regions: what the program marked, from entry to exit\n",
    };
    return headings[family];
}

void dw_cli_say_left_out(const struct dw_profile *profile)
{
    if (dw_family_is_in(profile, DW_FAMILY_SAMPLES) && dw_cli_families(profile) > 1)
        fputs("dwell: these are the samples; '--by region' has the regions\n", stderr);
}
