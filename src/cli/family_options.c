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
    if (words->by && dw_cli_is_of_places(words->by))
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

/* Any for one that is not known. */
static enum dw_family family_of_measure(const char *name)
{
    enum dw_measure measure = dw_measure_find(name);
    dw_measure_mask mask = measure < DW_MEASURES ? DW_MASK(measure) : 0;
    return mask & DW_SAMPLE_MASK   ? DW_FAMILY_SAMPLES
           : mask & DW_CALL_MASK   ? DW_FAMILY_CALLS
           : mask & DW_MEMORY_MASK ? DW_FAMILY_MEMORY
           : mask & DW_HEAP_MASK   ? DW_FAMILY_HEAP
           : mask & DW_ENTRY_MASK  ? DW_FAMILY_REGIONS
                                   : DW_FAMILY_ANY;
}

bool dw_cli_is_shown_alone(const char *name)
{
    enum dw_measure measure = dw_measure_find(name);
    return measure < DW_MEASURES && DW_MASK(measure) & (DW_GC_MASK | DW_HEAP_MASK);
}

int dw_cli_check_measure(const struct dw_report_words *words, const struct dw_profile *profile,
                         const char *file)
{
    struct dw_guess guess = {.typed = words->measure};
    if (!words->measure)
        return 0;
    enum dw_family family = family_of_measure(words->measure);
    bool is_alone = dw_cli_is_shown_alone(words->measure);
    dw_measure_mask mask = is_alone ? DW_MASK(dw_measure_find(words->measure)) : 0;
    if ((family && dw_family_is_in(profile, family)) || dw_profile_measures(profile) & mask)
        return 0;
    if (family || is_alone)
        return dw_cli_usage("%s: holds no '%s': it was not recorded", file, words->measure);
    for (size_t i = 0; i < DW_MEASURES; i++)
        dw_guess_try(&guess, dw_measures[i].name);
    return dw_cli_unknown("no measure", "", &guess, "cpu, wall, calls and count are some");
}

enum dw_family dw_cli_family_of(const struct dw_report_words *words,
                                const struct dw_profile *profile)
{
    if (words->measure)
        return family_of_measure(words->measure);
    return asks_for_entries(words) ? entries_of(profile) : DW_FAMILY_ANY;
}

bool dw_cli_asks_for_family(const struct dw_report_words *words)
{
    bool is_of_samples = (words->by && dw_cli_is_of_places(words->by)) ||
                         (words->sort && !dw_column_find(words->sort));
    return words->measure || asks_for_entries(words) || is_of_samples;
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
        [DW_FAMILY_MEMORY] = "Memory: what was allocated, and what of it was there\n",
        [DW_FAMILY_REGIONS] = "Regions: what the program marked, from entry to exit\n",
        [DW_FAMILY_HEAP] = "Heap: the objects of the last snapshot\n",
    };
    return headings[family];
}

/* What comes first is told by its own words; the others have words to ask for them. */
void dw_cli_say_left_out(const struct dw_profile *profile, bool shows_lines)
{
    static const char *const names[DW_FAMILIES] = {"",        "samples", "calls", "allocations",
                                                   "regions", "objects"};
    static const struct {
        enum dw_family family;
        const char *words;
    } others[] = {{DW_FAMILY_CALLS, "; '--measure calls' has the calls"},
                  {DW_FAMILY_MEMORY, "; '--measure peak_bytes' has the memory"},
                  {DW_FAMILY_REGIONS, "; '--by region' has the regions"}};
    enum dw_family first = dw_family_choose(profile, DW_FAMILY_ANY);
    struct dw_out words;
    dw_out_init_memory(&words);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (first != others[i].family && dw_family_is_in(profile, others[i].family))
            dw_out_text(&words, others[i].words);
    if (!shows_lines && dw_cli_families(profile) && dw_lines_are_watched(profile))
        dw_out_text(&words, "; 'dwell report --by line' has the lines");
    if (words.buffer.size)
        fprintf(stderr, "dwell: these are the %s%.*s\n", names[first], (int)words.buffer.size,
                (const char *)words.buffer.data);
    dw_out_close(&words);
}
