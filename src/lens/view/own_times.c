/* SPDX-License-Identifier: MIT
 * Samples are listed as they are. Of an entry, the time of what is directly inside is taken off;
 * what has not ended yet is not in the recorded time of children, so it is added up first. */
#include "lens/view/own_times.h"

#include "base/grow.h"
#include "lens/view/roster.h"

#include <stdlib.h>

int dw_own_times_init(struct dw_own_times *own, const struct dw_profile *profile,
                      enum dw_family family)
{
    *own = (struct dw_own_times){0};
    int error = dw_measuring_init(&own->measuring, profile, family);
    if (!error)
        error = dw_roster_threads(profile, &own->order);
    if (!error)
        error = dw_roster_first_threads(profile, &own->first);
    own->open = calloc(profile->paths.count, sizeof *own->open);
    return own->open ? error : DW_ERR_MEMORY;
}

void dw_own_times_release(struct dw_own_times *own)
{
    dw_measuring_release(&own->measuring);
    free(own->order);
    free(own->first);
    free(own->items);
    free(own->open);
    *own = (struct dw_own_times){0};
}

static int add_item(struct dw_own_times *own, const struct dw_own_time *item)
{
    int error = DW_GROW(own->items, own->count, own->capacity);
    if (!error)
        own->items[own->count++] = *item;
    return error;
}

static int list_samples(struct dw_own_times *own, uint32_t thread)
{
    struct dw_sample sample;
    int error = 0;
    for (uint32_t at = 0;
         !error && dw_profile_sample(own->measuring.profile, thread, &at, &sample);)
        error = add_item(own, &(struct dw_own_time){.path = sample.path,
                                                    .labels = sample.labels,
                                                    .count = sample.count,
                                                    .self = sample.weight});
    return error;
}

static bool takes_time(const struct dw_profile *profile, const struct dw_measured *measured)
{
    return dw_frame_kind_takes_time(dw_profile_frame(profile, measured->path)->kind);
}

/* An entry that is still open is not yet among its parent's children. */
static void find_open(struct dw_own_times *own)
{
    const struct dw_profile *profile = own->measuring.profile;
    const struct dw_measured *measured = &own->measuring.item;
    dw_measuring_thread(&own->measuring, own->thread);
    while (dw_measuring_next(&own->measuring)) {
        if (measured->row->path != DW_PATH_ROOT && takes_time(profile, measured))
            own->open[profile->paths.paths[measured->row->path].parent] +=
                measured->metric.open_total;
    }
}

/* Takes what it can of `part` off the whole, and leaves the rest of it. */
static uint64_t take_off(uint64_t whole, uint64_t *part)
{
    uint64_t taken = *part < whole ? *part : whole;
    *part -= taken;
    return whole - taken;
}

static int list_entries(struct dw_own_times *own)
{
    int error = 0;
    find_open(own);
    dw_measuring_thread(&own->measuring, own->thread);
    while (!error && dw_measuring_next(&own->measuring)) {
        const struct dw_measured *measured = &own->measuring.item;
        const struct dw_metric *metric = &measured->metric;
        dw_path_id path = measured->row->path;
        uint64_t children = metric->children;
        if (!takes_time(own->measuring.profile, measured))
            continue;
        uint64_t self = take_off(dw_metric_active(metric), &children);
        error = add_item(own, &(struct dw_own_time){
                                  .path = path,
                                  .labels = measured->row->labels,
                                  .count = path == DW_PATH_ROOT ? 0 : metric->count + metric->open,
                                  .self = take_off(self, &own->open[path])});
    }
    dw_measuring_thread(&own->measuring, own->thread);
    while (dw_measuring_next(&own->measuring))
        own->open[own->measuring.item.row->path] = 0;
    return error;
}

static int list_thread(struct dw_own_times *own, uint32_t thread)
{
    const struct dw_profile *profile = own->measuring.profile;
    own->count = 0;
    own->thread = thread;
    own->is_first = own->first[profile->threads[thread].process] == thread;
    return own->measuring.family == DW_FAMILY_SAMPLES ? list_samples(own, thread)
                                                      : list_entries(own);
}

bool dw_own_times_next(struct dw_own_times *own)
{
    const struct dw_profile *profile = own->measuring.profile;
    own->count = 0;
    while (!own->error && !own->count && own->next < profile->thread_count) {
        uint32_t thread = own->order[own->next++];
        if (dw_family_has_thread(profile, own->measuring.family, thread))
            own->error = list_thread(own, thread);
    }
    return !own->error && own->count;
}
