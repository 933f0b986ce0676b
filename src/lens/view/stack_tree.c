/* SPDX-License-Identifier: MIT
 * Own times stand at the ends of paths; what lies under a path is added up from there. */
#include "lens/view/stack_tree.h"

#include "lens/view/own_times.h"

#include <stdlib.h>

bool dw_samples_are_all(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!profile->processes[i].is_sampled)
            return false;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].values.count && !dw_thread_is_sampled(&profile->threads[i]))
            return false;
    return profile->process_count;
}

struct dw_string dw_place_module(const struct dw_profile *profile, const struct dw_place *place)
{
    const struct dw_frame *frame = dw_place_frame(profile, place);
    if (place->module)
        return dw_profile_string(profile, profile->modules[place->module - 1].path);
    bool is_object = frame->kind == DW_FRAME_NATIVE && !place->line;
    return is_object ? dw_profile_string(profile, frame->file) : (struct dw_string){"", 0};
}

struct dw_string dw_place_source(const struct dw_profile *profile, const struct dw_place *place)
{
    const struct dw_frame *frame = dw_place_frame(profile, place);
    bool is_object = frame->kind == DW_FRAME_NATIVE && !place->line &&
                     (!place->module || frame->file == profile->modules[place->module - 1].path);
    return is_object ? (struct dw_string){"", 0} : dw_profile_string(profile, frame->file);
}

static void add_sums(struct dw_stack_sums *into, const struct dw_stack_sums *from)
{
    into->count += from->count;
    into->weight += from->weight;
}

static int add_threads(struct dw_stack_tree *tree, enum dw_family family)
{
    struct dw_own_times own;
    int error = dw_own_times_init(&own, tree->profile, family);
    while (!error && dw_own_times_next(&own))
        for (uint32_t i = 0; i < own.count; i++)
            if (own.items[i].path != DW_PATH_ROOT || family == DW_FAMILY_SAMPLES)
                add_sums(&tree->self[own.items[i].path],
                         &(struct dw_stack_sums){own.items[i].count, own.items[i].self});
    error = error ? error : own.error;
    dw_own_times_release(&own);
    return error;
}

static int add_up(struct dw_stack_tree *tree, enum dw_family family)
{
    DW_ROOM_GET(&tree->room, tree->self, tree->count);
    DW_ROOM_GET(&tree->room, tree->total, tree->count);
    int error = tree->room.failed ? DW_ERR_MEMORY : add_threads(tree, family);
    for (dw_path_id path = tree->count; !error && path-- > 0;) {
        add_sums(&tree->total[path], &tree->self[path]);
        if (path != DW_PATH_ROOT)
            add_sums(&tree->total[tree->paths[path].parent], &tree->total[path]);
    }
    return error;
}

int dw_stack_tree_make(const struct dw_profile *profile, enum dw_family family,
                       struct dw_stack_tree *tree)
{
    struct dw_stack_tree made = {
        .profile = profile, .paths = profile->paths.paths, .count = profile->paths.count};
    int error = add_up(&made, family);
    if (error)
        dw_stack_tree_release(&made);
    else
        *tree = made;
    return error;
}

void dw_stack_tree_release(struct dw_stack_tree *tree)
{
    dw_room_release(&tree->room);
}
