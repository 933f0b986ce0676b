/* SPDX-License-Identifier: MIT */
#include "lens/page/html_memory.h"

#include <stdlib.h>

#define ALLOCATED(at)                                                                              \
    .within = "called by", .name = "Name", .total = "Bytes", .self = "Own bytes",                  \
    .about_name = "function", .about_total = "that it and what it called allocated" at,            \
    .about_self = "that it allocated itself" at

static const struct dw_memory_words known[] = {
    {.bytes = DW_OBJECT_BYTES,
     .count = DW_OBJECTS,
     .whole = "the heap",
     .root = "the heap",
     .within = "held by",
     .name = "Type or object",
     .total = "Retained",
     .self = "Own bytes",
     .counted = "Objects",
     .about_name = "a type, or the way to an object",
     .about_total = "bytes of the objects and of all that only they hold",
     .about_self = "bytes of the objects themselves",
     .about_counted = "how many there are, with all that only they hold"},
    {.bytes = DW_PEAK_BYTES,
     .whole = "the memory in use at the peak",
     ALLOCATED(", of those in use at the peak")},
    {.bytes = DW_LIVE_BYTES,
     .count = DW_LIVE,
     .whole = "the memory in use at the end",
     .counted = "Blocks",
     .about_counted = "that were not freed",
     ALLOCATED(", of those not freed")},
    {.bytes = DW_ALLOC_BYTES,
     .count = DW_ALLOCATIONS,
     .whole = "all memory that was allocated",
     .counted = "Allocations",
     .about_counted = "made by it and what it called",
     ALLOCATED("")},
};
static const struct dw_memory_words other = {.whole = "the memory that is shown", ALLOCATED("")};

const struct dw_memory_words *dw_memory_words(const struct dw_profile *profile)
{
    if (dw_profile_shown_unit(profile) != DW_UNIT_BYTES)
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].bytes == profile->shown_measure)
            return &known[i];
    return &other;
}

/* Adds what the thread has on each path of functions itself. */
static void add_thread(const struct dw_profile *profile, const struct dw_thread *thread,
                       enum dw_measure measure, uint64_t *by_path)
{
    const struct dw_value_table *values = &thread->values;
    for (uint32_t i = 0; i < values->count; i++)
        by_path[profile->function_of[values->rows[i].path]] +=
            dw_value_get(values, &values->rows[i], measure);
}

static bool is_of(const struct dw_profile *profile, const struct dw_row_tree *tree, uint32_t thread)
{
    return (tree->thread == DW_ROW_NONE || tree->thread == thread) &&
           (tree->process == DW_ROW_NONE || tree->process == profile->threads[thread].process);
}

uint64_t *dw_memory_count(const struct dw_profile *profile, const struct dw_memory_words *words,
                          const struct dw_row_tree *tree, const struct dw_row *rows, uint32_t count)
{
    uint64_t *by_path = calloc(profile->functions.count + 1u, sizeof *by_path);
    uint64_t *by_row = by_path ? malloc((count + 1u) * sizeof *by_row) : NULL;
    for (uint32_t i = 0; i < profile->thread_count && by_row; i++)
        if (is_of(profile, tree, i))
            add_thread(profile, &profile->threads[i], words->count, by_path);
    for (uint32_t i = 0; i < count && by_row; i++)
        by_row[i] = by_path[rows[i].path];
    for (uint32_t i = count; i-- > 1 && by_row;)
        by_row[rows[i].parent - rows[0].id] += by_row[i];
    free(by_path);
    return by_row;
}
