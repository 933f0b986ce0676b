/* SPDX-License-Identifier: MIT
 * Samples stand at the ends of paths; what lies under a path is added up from there. */
#include "lens/view/stack_tree.h"

#include "base/grow.h"

#include <string.h>

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

static int add_samples(struct dw_stack_tree *tree)
{
    const struct dw_profile *profile = tree->profile;
    struct dw_sample sample;
    tree->self = calloc(tree->count, sizeof *tree->self);
    tree->total = calloc(tree->count, sizeof *tree->total);
    if (!tree->self || !tree->total)
        return DW_ERR_MEMORY;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t at = 0; dw_profile_sample(profile, t, &at, &sample);)
            add_sums(&tree->self[sample.path],
                     &(struct dw_stack_sums){sample.count, sample.weight});
    for (dw_path_id path = tree->count; path-- > 0;) {
        add_sums(&tree->total[path], &tree->self[path]);
        if (path != DW_PATH_ROOT)
            add_sums(&tree->total[tree->paths[path].parent], &tree->total[path]);
    }
    return 0;
}

int dw_stack_tree_make(const struct dw_profile *profile, struct dw_stack_tree *tree)
{
    struct dw_stack_tree made = {
        .profile = profile, .paths = profile->paths.paths, .count = profile->paths.count};
    int error = add_samples(&made);
    if (error)
        dw_stack_tree_release(&made);
    else
        *tree = made;
    return error;
}

void dw_stack_tree_release(struct dw_stack_tree *tree)
{
    free(tree->self);
    free(tree->total);
    *tree = (struct dw_stack_tree){0};
}
