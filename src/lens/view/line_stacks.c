/* SPDX-License-Identifier: MIT */
#include "lens/view/line_stacks.h"

#include "base/error.h"

#include <stdlib.h>

static void add(struct dw_stack_sums *into, const struct dw_stack_sums *from)
{
    into->count += from->count;
    into->weight += from->weight;
}

/* Of each path of the tree the path of its lines. */
static int map_paths(struct dw_line_stacks *stacks, const struct dw_stack_tree *tree,
                     dw_path_id *path_of)
{
    int error = 0;
    for (dw_path_id path = 1; !error && path < tree->count; path++)
        if (stacks->spots.of[tree->paths[path].step])
            error = dw_path_intern(&stacks->paths, path_of[tree->paths[path].parent],
                                   stacks->spots.of[tree->paths[path].step], &path_of[path]);
    return error;
}

static int add_sums(struct dw_line_stacks *stacks, const struct dw_stack_tree *tree,
                    const dw_path_id *path_of)
{
    stacks->self = calloc(stacks->paths.count, sizeof *stacks->self);
    stacks->total = calloc(stacks->paths.count, sizeof *stacks->total);
    if (!stacks->self || !stacks->total)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 0; path < tree->count; path++) {
        add(&stacks->self[path_of[path]], &tree->self[path]);
        add(&stacks->total[path_of[path]], &tree->total[path]);
    }
    return 0;
}

int dw_line_stacks_make(const struct dw_profile *profile, struct dw_line_stacks *stacks)
{
    struct dw_line_stacks made = {0};
    struct dw_stack_tree tree = {0};
    dw_path_id *path_of = NULL;
    int error = dw_stack_tree_make(profile, &tree);
    if (!error)
        error = dw_place_spots_make(&tree, DW_SPOT_LINE, &made.spots);
    if (!error)
        error = dw_path_tree_init(&made.paths);
    if (!error)
        error = (path_of = calloc(tree.count, sizeof *path_of)) ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = map_paths(&made, &tree, path_of);
    if (!error)
        error = add_sums(&made, &tree, path_of);
    dw_stack_tree_release(&tree);
    free(path_of);
    if (error)
        dw_line_stacks_release(&made);
    else
        *stacks = made;
    return error;
}

void dw_line_stacks_release(struct dw_line_stacks *stacks)
{
    dw_place_spots_release(&stacks->spots);
    dw_path_tree_release(&stacks->paths);
    free(stacks->self);
    free(stacks->total);
    stacks->self = stacks->total = NULL;
}
