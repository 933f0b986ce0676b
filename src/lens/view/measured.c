/* SPDX-License-Identifier: MIT
 * Entries and calls know their whole time. Samples stand at the end of a path: their time goes to
 * that first, and from there, children before parents, to all that it lies under. */
#include "lens/view/measured.h"

#include "base/grow.h"

static const dw_measure_mask masks[DW_FAMILIES] = {
    [DW_FAMILY_SAMPLES] = DW_SAMPLE_MASK, [DW_FAMILY_CALLS] = DW_CALL_MASK,
    [DW_FAMILY_MEMORY] = DW_MEMORY_MASK,  [DW_FAMILY_REGIONS] = DW_ENTRY_MASK,
    [DW_FAMILY_HEAP] = DW_HEAP_MASK,
};

static bool has_path(const struct dw_value_table *values, dw_measure_mask mask)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (values->rows[i].mask & mask && values->rows[i].path != DW_PATH_ROOT)
            return true;
    return false;
}

bool dw_family_is_in(const struct dw_profile *profile, enum dw_family family)
{
    dw_measure_mask mask = masks[family];
    if (family == DW_FAMILY_MEMORY) /* it may be all that is known: nothing was sampled */
        mask |= DW_MASK(DW_RESIDENT_BYTES);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        const struct dw_value_table *values = &profile->threads[i].values;
        if (values->mask & mask && (family == DW_FAMILY_SAMPLES || has_path(values, mask)))
            return true;
    }
    return false;
}

enum dw_family dw_family_choose(const struct dw_profile *profile, enum dw_family wanted)
{
    for (enum dw_family family = DW_FAMILY_SAMPLES; !wanted && family < DW_FAMILIES; family++)
        if (dw_family_is_in(profile, family))
            return family;
    return wanted ? wanted : DW_FAMILY_REGIONS;
}

bool dw_family_has_thread(const struct dw_profile *profile, enum dw_family family, uint32_t thread)
{
    dw_measure_mask mask = profile->threads[thread].values.mask;
    return mask & masks[family] || /* a snapshot of a heap is no thread that ran */
           !(dw_profile_measures(profile) & DW_SAMPLE_MASK || mask & DW_HEAP_MASK);
}

uint32_t dw_family_thread_count(const struct dw_profile *profile, enum dw_family family)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        count += dw_family_has_thread(profile, family, i);
    return count;
}

enum dw_measure dw_samples_weight(const struct dw_profile *profile)
{
    dw_measure_mask mask = dw_profile_measures(profile);
    return mask & DW_MASK(DW_WALL) ? DW_WALL : mask & DW_MASK(DW_CPU) ? DW_CPU : DW_SAMPLES;
}

bool dw_samples_are_counts(const struct dw_profile *profile)
{
    dw_measure_mask mask = dw_profile_measures(profile);
    return mask & DW_MASK(DW_SAMPLES) && !(mask & (DW_MASK(DW_CPU) | DW_MASK(DW_WALL)));
}

int dw_measuring_init(struct dw_measuring *measuring, const struct dw_profile *profile,
                      enum dw_family family)
{
    *measuring = (struct dw_measuring){.profile = profile, .family = family};
    if (family != DW_FAMILY_SAMPLES)
        return 0;
    uint32_t count = profile->functions.count;
    measuring->at = calloc(count + 1u, sizeof *measuring->at);
    int error = dw_touched_init(&measuring->touched, &profile->functions);
    return measuring->at ? error : DW_ERR_MEMORY;
}

void dw_measuring_release(struct dw_measuring *measuring)
{
    free(measuring->at);
    dw_touched_release(&measuring->touched);
    *measuring = (struct dw_measuring){0};
}

/* The time of a call does not include that in which its generator slept. Numbers of entries are the
 * first of a row. */
struct dw_metric dw_family_metric(enum dw_family family, const struct dw_value_table *values,
                                  const struct dw_value_row *row)
{
    struct dw_metric metric;
    const uint64_t *at = &values->numbers[row->first];
    if (family == DW_FAMILY_CALLS) {
        metric = (struct dw_metric){.count = dw_value_get(values, row, DW_CALLS),
                                    .total = dw_value_get(values, row, DW_CALL_TOTAL),
                                    .children = dw_value_get(values, row, DW_CALL_CHILDREN)};
        return metric;
    }
    for (enum dw_measure measure = 0; measure <= DW_OPEN_TOTAL; measure++)
        metric.numbers[measure] = row->mask & DW_MASK(measure) ? *at++ : 0;
    metric.spread = row->spread ? &values->spreads[row->spread - 1] : NULL;
    metric.owns_spread = false;
    return metric;
}

static bool next_row(struct dw_measuring *measuring)
{
    const struct dw_value_table *values = measuring->values;
    dw_measure_mask mask = masks[measuring->family];
    while (measuring->next < values->count && !(values->rows[measuring->next].mask & mask))
        measuring->next++;
    if (measuring->next >= values->count)
        return false;
    const struct dw_value_row *row = &values->rows[measuring->next++];
    measuring->item =
        (struct dw_measured){.path = measuring->profile->function_of[row->path],
                             .metric = dw_family_metric(measuring->family, values, row),
                             .row = row};
    return true;
}

/* A child's id is larger than its parent's, so its sum is complete when its turn comes. */
static bool next_path(struct dw_measuring *measuring)
{
    if (measuring->next >= measuring->touched.count)
        return false;
    dw_path_id path = measuring->touched.paths[measuring->next++];
    struct dw_spent *sum = &measuring->at[path];
    struct dw_spent *above = &measuring->at[measuring->profile->functions.paths[path].parent];
    measuring->item = (struct dw_measured){
        .path = path,
        .metric = {.count = sum->count, .total = sum->weight, .children = sum->inside}};
    above->count += path ? sum->count : 0;
    above->weight += path ? sum->weight : 0;
    above->inside += path ? sum->weight : 0;
    *sum = (struct dw_spent){0};
    return true;
}

bool dw_measuring_next(struct dw_measuring *measuring)
{
    return measuring->family == DW_FAMILY_SAMPLES ? next_path(measuring) : next_row(measuring);
}

void dw_measuring_thread(struct dw_measuring *measuring, uint32_t thread)
{
    const struct dw_profile *profile = measuring->profile;
    struct dw_sample sample;
    measuring->values = &profile->threads[thread].values;
    measuring->next = 0;
    if (measuring->family != DW_FAMILY_SAMPLES)
        return;
    dw_touched_clear(&measuring->touched);
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        dw_path_id path = profile->function_of[sample.path];
        dw_touched_add(&measuring->touched, path);
        measuring->at[path].count += sample.count;
        measuring->at[path].weight += sample.weight;
    }
    dw_touched_sort(&measuring->touched);
}

/* An entry that is still open is not yet among its parent's children. */
static void add_metric(struct dw_path_sums *all, const struct dw_profile *profile,
                       const struct dw_measured *measured)
{
    const struct dw_metric *metric = &measured->metric;
    if (!dw_frame_kind_takes_time(dw_profile_frame(profile, measured->path)->kind))
        return;
    struct dw_path_sums *sums = &all[measured->path];
    sums->count += metric->count + metric->open;
    sums->total += dw_metric_active(metric);
    sums->children += metric->children;
    sums->taken = true;
    all[profile->functions.paths[measured->path].parent].children += metric->open_total;
}

static int add_threads(struct dw_path_sums *sums, const struct dw_profile *profile,
                       enum dw_family family)
{
    struct dw_measuring measuring;
    int error = dw_measuring_init(&measuring, profile, family);
    for (uint32_t t = 0; t < profile->thread_count && !error; t++) {
        dw_measuring_thread(&measuring, t);
        while (dw_measuring_next(&measuring))
            add_metric(sums, profile, &measuring.item);
    }
    dw_measuring_release(&measuring);
    return error;
}

struct dw_path_sums *dw_path_sums_make(const struct dw_profile *profile, enum dw_family family)
{
    struct dw_path_sums *sums = calloc(profile->functions.count, sizeof *sums);
    if (!sums || add_threads(sums, profile, family)) {
        free(sums);
        return NULL;
    }
    for (dw_path_id path = profile->functions.count; --path > DW_PATH_ROOT;)
        if (sums[path].taken)
            sums[profile->functions.paths[path].parent].taken = true;
    return sums;
}
