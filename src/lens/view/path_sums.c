/* SPDX-License-Identifier: MIT */
#include "lens/view/path_sums.h"

#include <stdlib.h>

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
