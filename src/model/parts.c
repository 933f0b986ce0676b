/* SPDX-License-Identifier: MIT */
#include "model/parts.h"

#include <stdlib.h>

bool dw_samples_are_in(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].samples.count)
            return true;
    return false;
}

bool dw_entries_are_in(const struct dw_profile *profile)
{
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t i = 0; i < profile->threads[t].metric_count; i++)
            if (profile->threads[t].metrics[i].path != DW_PATH_ROOT)
                return true;
    return false;
}

bool dw_parts_are_two(const struct dw_profile *profile)
{
    return dw_samples_are_in(profile) && dw_entries_are_in(profile);
}

static void forget_samples(struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        struct dw_thread *thread = &profile->threads[i];
        dw_sample_table_release(&thread->samples);
        free(thread->timed);
        thread->timed = NULL;
        thread->timed_count = thread->timed_capacity = 0;
    }
    for (uint32_t i = 0; i < profile->process_count; i++)
        profile->processes[i].is_sampled = false;
}

static void forget_entries(struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        struct dw_thread *thread = &profile->threads[i];
        for (uint32_t m = 0; m < thread->metric_count; m++)
            dw_metric_release(&thread->metrics[m].metric);
        dw_map_release(&thread->index);
        thread->metric_count = thread->block_count = 0;
    }
    for (uint32_t i = 0; i < profile->block_count; i++)
        free(profile->blocks[i].payload);
    profile->block_count = 0;
}

static bool is_empty(const struct dw_thread *thread)
{
    return !thread->metric_count && !thread->samples.count && !thread->block_count;
}

/* Threads that only the other part knew. Blocks name threads by index, so where some are kept
 * the threads stay. */
static void forget_empty_threads(struct dw_profile *profile)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < profile->thread_count && !profile->block_count; i++) {
        if (is_empty(&profile->threads[i]))
            dw_thread_release(&profile->threads[i]);
        else
            profile->threads[kept++] = profile->threads[i];
    }
    profile->thread_count = profile->block_count ? profile->thread_count : kept;
}

void dw_profile_keep(struct dw_profile *profile, enum dw_part part)
{
    if (!dw_samples_are_in(profile))
        return;
    bool is_two = dw_entries_are_in(profile);
    profile->lacks_entries = is_two && part == DW_PART_SAMPLES;
    profile->lacks_samples = is_two && part == DW_PART_ENTRIES;
    if (!is_two || profile->lacks_entries)
        forget_entries(profile); /* a root alone has the time of the process, which is no sample */
    if (profile->lacks_samples)
        forget_samples(profile);
    if (!is_two || part != DW_PART_BOTH)
        forget_empty_threads(profile);
}
