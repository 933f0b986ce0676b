/* SPDX-License-Identifier: MIT
 * The order matters: names first, since they decide which frames are one; then paths; then what is
 * made of paths. */
#include "model/prepare/prepare.h"

#include "base/error.h"
#include "model/extension_names.h"
#include "model/prepare/line_blocks.h"
#include "model/prepare/line_fold.h"
#include "model/prepare/shown_paths.h"
#include "model/prepare/task_labels.h"

#include <stdlib.h>

static void name_functions_in_events(struct dw_profile *profile)
{
    for (uint32_t m = 0; m < profile->path_map_count; m++) {
        struct dw_path_map *map = &profile->path_maps[m];
        map->lost = profile->function_of[map->lost];
        for (uint32_t i = 0; i < map->count; i++)
            map->paths[i] = profile->function_of[map->paths[i]];
    }
    for (uint32_t i = 0; i < profile->block_count; i++)
        profile->blocks[i].top = profile->function_of[profile->blocks[i].top];
}

static int make_functions(struct dw_profile *profile)
{
    const struct dw_path *paths = profile->paths.paths;
    profile->function_of = calloc(profile->paths.count + 1u, sizeof *profile->function_of);
    int error = profile->function_of ? dw_path_tree_init(&profile->functions) : DW_ERR_MEMORY;
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++)
        error = dw_path_intern(&profile->functions, profile->function_of[paths[path].parent],
                               profile->places.places[paths[path].step].frame,
                               &profile->function_of[path]);
    if (!error)
        name_functions_in_events(profile);
    return error;
}

int dw_profile_prepare_functions(struct dw_profile *profile, bool internals)
{
    bool is_sampled = dw_profile_measures(profile) & DW_STACK_MASK;
    int error = is_sampled ? dw_samples_name_extensions(profile) : 0;
    if (!error && is_sampled)
        error = dw_profile_show_paths(profile, internals);
    if (!error && is_sampled)
        error = dw_samples_label_tasks(profile);
    if (!error)
        error = make_functions(profile);
    if (!error)
        error = dw_rows_fold_lines(profile);
    if (!error && profile->lines.count && dw_profile_measures(profile) & DW_MEMORY_MASK)
        error = dw_blocks_fold_lines(profile);
    if (!error && is_sampled && profile->lines.count)
        error = dw_samples_fold_lines(profile);
    return error;
}

int dw_profile_prepare(struct dw_profile *profile, bool internals)
{
    bool has_lines = profile->lines.count;
    int error = dw_profile_prepare_functions(profile, internals);
    bool lacks_lines = !has_lines && dw_profile_measures(profile) & DW_SAMPLE_MASK;
    return error || !lacks_lines ? error : dw_samples_fold_lines(profile);
}
