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

/* Whether no frame is at two places, as in recordings of regions and calls. */
static int find_places_once(const struct dw_profile *profile, bool *are_once)
{
    bool *is_met = calloc(profile->frames.count + 1u, sizeof *is_met);
    if (!is_met)
        return DW_ERR_MEMORY;
    *are_once = true;
    for (dw_place_id i = 1; i < profile->places.count && *are_once; i++) {
        *are_once = !is_met[profile->places.places[i].frame];
        is_met[profile->places.places[i].frame] = true;
    }
    free(is_met);
    return 0;
}

/* Where no frame is at two places, no two paths are one path of functions, and none need be
 * searched for. */
static int add_functions(struct dw_profile *profile)
{
    const struct dw_path *paths = profile->paths.paths;
    bool are_once;
    int error = find_places_once(profile, &are_once);
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++)
        error = (are_once ? dw_path_append : dw_path_intern)(
            &profile->functions, profile->function_of[paths[path].parent],
            profile->places.places[paths[path].step].frame, &profile->function_of[path]);
    return error;
}

/* From here on nobody adds a path to the trees, so they need no index. */
static int make_functions(struct dw_profile *profile)
{
    dw_map_release(&profile->paths.index);
    profile->function_of = calloc(profile->paths.count + 1u, sizeof *profile->function_of);
    int error = profile->function_of ? dw_path_tree_init(&profile->functions) : DW_ERR_MEMORY;
    if (!error)
        error = add_functions(profile);
    dw_map_release(&profile->functions.index);
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
