/* SPDX-License-Identifier: MIT */
#include "lens/slice_walk.h"

#include "base/error.h"

#include <stdlib.h>

bool dw_slice_walk_can(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->thread_count; i++)
        if (profile->threads[i].timed_count)
            return true;
    return false;
}

int dw_slice_walk_init(struct dw_slice_walk *walk, const struct dw_profile *profile,
                       uint64_t epoch_ns)
{
    uint32_t deepest = 0;
    *walk = (struct dw_slice_walk){.epoch_ns = epoch_ns};
    int error = dw_stack_tree_make(profile, &walk->tree);
    if (error)
        return error;
    walk->depths = calloc(walk->tree.count, sizeof *walk->depths);
    if (!walk->depths)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 1; path < walk->tree.count; path++) {
        walk->depths[path] = walk->depths[walk->tree.paths[path].parent] + 1;
        deepest = walk->depths[path] > deepest ? walk->depths[path] : deepest;
    }
    walk->open = calloc(deepest + 1u, sizeof *walk->open);
    walk->wanted = calloc(deepest + 1u, sizeof *walk->wanted);
    return walk->open && walk->wanted ? 0 : DW_ERR_MEMORY;
}

void dw_slice_walk_release(struct dw_slice_walk *walk)
{
    dw_stack_tree_release(&walk->tree);
    free(walk->depths);
    free(walk->open);
    free(walk->wanted);
    *walk = (struct dw_slice_walk){0};
}

static void close_to(struct dw_slice_walk *walk, uint32_t depth, uint64_t time_ns,
                     dw_slice_visit *visit, void *context)
{
    while (walk->open_count > depth)
        visit(context, false, walk->open[--walk->open_count], time_ns);
}

static uint32_t spell(struct dw_slice_walk *walk, dw_path_id path)
{
    uint32_t depth = walk->depths[path];
    for (uint32_t at = depth; at-- > 0; path = walk->tree.paths[path].parent)
        walk->wanted[at] = dw_stack_tree_place(&walk->tree, path)->frame;
    return depth;
}

static void change_to(struct dw_slice_walk *walk, dw_path_id path, uint64_t time_ns,
                      dw_slice_visit *visit, void *context)
{
    uint32_t depth = spell(walk, path), same = 0;
    while (same < depth && same < walk->open_count && walk->open[same] == walk->wanted[same])
        same++;
    close_to(walk, same, time_ns, visit, context);
    for (uint32_t i = same; i < depth; i++) {
        walk->open[i] = walk->wanted[i];
        visit(context, true, walk->wanted[i], time_ns);
    }
    walk->open_count = depth;
}

/* Between samples that do not touch nothing is known, so nothing is open. */
void dw_slice_walk_thread(struct dw_slice_walk *walk, uint32_t index, dw_slice_visit *visit,
                          void *context)
{
    const struct dw_thread *thread = &walk->tree.profile->threads[index];
    uint64_t last = 0;
    walk->open_count = 0;
    for (uint32_t i = 0; i < thread->timed_count; i++) {
        const struct dw_timed_sample *sample = &thread->timed[i];
        uint64_t end = sample->time_ns > walk->epoch_ns ? sample->time_ns - walk->epoch_ns : 0;
        uint64_t begin = end > sample->weight_ns ? end - sample->weight_ns : 0;
        if (begin > last)
            close_to(walk, 0, last, visit, context);
        last = begin > last ? begin : last;
        change_to(walk, walk->tree.path_of[sample->stack], last, visit, context);
        last = end > last ? end : last;
    }
    close_to(walk, 0, last, visit, context);
}
