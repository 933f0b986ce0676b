/* SPDX-License-Identifier: MIT */
#include "lens/view/path_sums.h"

#include <stdlib.h>

/* An entry that is still open is not yet among its parent's children. */
static void add_metric(struct dw_path_sums *all, const struct dw_profile *profile,
                       const struct dw_thread_metric *measured)
{
    const struct dw_metric *metric = &measured->metric;
    if (!dw_frame_kind_takes_time(dw_profile_frame(profile, measured->path)->kind))
        return;
    struct dw_path_sums *sums = &all[measured->path];
    sums->count += metric->count + metric->open;
    sums->total += dw_metric_active(metric);
    sums->children += metric->children;
    sums->taken = true;
    all[profile->paths.paths[measured->path].parent].children += metric->open_total;
}

struct dw_path_sums *dw_path_sums_make(const struct dw_profile *profile)
{
    struct dw_path_sums *sums = calloc(profile->paths.count, sizeof *sums);
    if (!sums)
        return NULL;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t i = 0; i < profile->threads[t].metric_count; i++)
            add_metric(sums, profile, &profile->threads[t].metrics[i]);
    for (dw_path_id path = profile->paths.count; --path > DW_PATH_ROOT;)
        if (sums[path].taken)
            sums[profile->paths.paths[path].parent].taken = true;
    return sums;
}
