/* SPDX-License-Identifier: MIT
 * Paths are not interned again: two that differ only in what was inlined at their end have
 * the same parents twice, which changes no sum. */
#include "lens/view/stack_tree.h"

#include "base/grow.h"

#include <string.h>

#define INLINED_MAX 64 /* places that one stands for; more is no program's */

bool dw_samples_are_all(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!profile->processes[i].is_sampled)
            return false;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].metric_count && !profile->threads[i].samples.count)
            return false;
    return profile->process_count;
}

bool dw_samples_are_counts(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (profile->processes[i].is_sampled &&
            profile->processes[i].sampling.mode == DW_SAMPLE_COUNTS)
            return true;
    return false;
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

static int add_path(struct dw_stack_tree *tree, dw_path_id *parent, dw_place_id place)
{
    int error = DW_GROW(tree->paths, tree->count, tree->capacity);
    if (error)
        return error;
    tree->paths[tree->count] = (struct dw_path){*parent, place};
    *parent = tree->count++;
    return 0;
}

/* The place that others were inlined into comes first. */
static int add_stack(struct dw_stack_tree *tree, dw_path_id stack)
{
    const struct dw_profile *profile = tree->profile;
    dw_place_id chain[INLINED_MAX];
    uint32_t count = 0;
    int error = 0;
    dw_place_id place = profile->stacks.paths[stack].frame;
    for (; place && count < INLINED_MAX; place = profile->places.places[place].outer)
        chain[count++] = place;
    dw_path_id path = tree->path_of[profile->stacks.paths[stack].parent];
    while (!error && count)
        error = add_path(tree, &path, chain[--count]);
    tree->path_of[stack] = path;
    return error;
}

static int add_stacks(struct dw_stack_tree *tree)
{
    uint32_t count = tree->profile->stacks.count;
    tree->path_of = calloc(count + 1u, sizeof *tree->path_of);
    if (!tree->path_of)
        return DW_ERR_MEMORY;
    dw_path_id root = DW_PATH_ROOT;
    int error = add_path(tree, &root, 0);
    for (dw_path_id stack = DW_PATH_ROOT + 1; !error && stack < count; stack++)
        error = add_stack(tree, stack);
    return error;
}

static void add_sums(struct dw_stack_sums *into, const struct dw_stack_sums *from)
{
    into->count += from->count;
    into->weight += from->weight;
}

static int add_samples(struct dw_stack_tree *tree)
{
    const struct dw_profile *profile = tree->profile;
    tree->self = calloc(tree->count, sizeof *tree->self);
    tree->total = calloc(tree->count, sizeof *tree->total);
    if (!tree->self || !tree->total)
        return DW_ERR_MEMORY;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_sample_table *samples = &profile->threads[t].samples;
        for (uint32_t i = 0; i < samples->count; i++) {
            const struct dw_sample *sample = &samples->samples[i];
            add_sums(&tree->self[tree->path_of[sample->stack]],
                     &(struct dw_stack_sums){sample->count, sample->weight_ns});
        }
    }
    for (dw_path_id path = tree->count; path-- > 0;) {
        add_sums(&tree->total[path], &tree->self[path]);
        if (path != DW_PATH_ROOT)
            add_sums(&tree->total[tree->paths[path].parent], &tree->total[path]);
    }
    return 0;
}

int dw_stack_tree_make(const struct dw_profile *profile, struct dw_stack_tree *tree)
{
    struct dw_stack_tree made = {.profile = profile};
    int error = add_stacks(&made);
    if (!error)
        error = add_samples(&made);
    if (error)
        dw_stack_tree_release(&made);
    else
        *tree = made;
    return error;
}

void dw_stack_tree_release(struct dw_stack_tree *tree)
{
    free(tree->paths);
    free(tree->path_of);
    free(tree->self);
    free(tree->total);
    *tree = (struct dw_stack_tree){0};
}
