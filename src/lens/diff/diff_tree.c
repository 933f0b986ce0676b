/* SPDX-License-Identifier: MIT
 * A node is found by its parent and its place, whichever of the two profiles comes first with it.
 */
#include "lens/diff/diff_tree.h"

#include "base/intern.h"
#include "lens/view/measured.h"

static int node_of(struct dw_diff_tree *tree, uint32_t parent, uint32_t place, uint32_t *node)
{
    return DW_INTERN(tree->nodes, tree->count, tree->capacity, tree->index,
                     offsetof(struct dw_diff_node, at),
                     (&(struct dw_diff_node){.parent = parent, .place = place}), node);
}

static void add(struct dw_diff_node *node, enum dw_side side, const struct dw_path_sums *sums,
                bool is_itself)
{
    node->at[side].self += dw_path_sums_self(sums);
    if (!is_itself)
        return;
    node->is_in[side] = true;
    node->at[side].count += sums->count;
    node->at[side].total += sums->total;
}

/* nodes[path] becomes the path's node, or the node around it. */
static int add_paths(struct dw_diff_tree *tree, enum dw_side side, const struct dw_profile *profile,
                     const uint32_t *place_of_frame, unsigned kinds,
                     const struct dw_path_sums *sums, uint32_t *nodes)
{
    add(&tree->nodes[0], side, &sums[DW_PATH_ROOT], true);
    for (dw_path_id path = DW_PATH_ROOT + 1; path < profile->functions.count; path++) {
        const struct dw_path *at = &profile->functions.paths[path];
        uint32_t place = place_of_frame[at->step], around = nodes[at->parent];
        bool is_node = dw_diff_kind(profile->frames.frames[at->step].kind) & kinds;
        nodes[path] = around;
        if (!sums[path].taken || place == DW_DIFF_NONE)
            continue;
        int error = is_node ? node_of(tree, around, place, &nodes[path]) : 0;
        if (error)
            return error;
        add(&tree->nodes[nodes[path]], side, &sums[path], is_node);
    }
    return 0;
}

static int add_profile(struct dw_diff_tree *tree, enum dw_side side,
                       const struct dw_profile *profile, const uint32_t *place_of_frame,
                       unsigned kinds, enum dw_family family)
{
    struct dw_path_sums *sums = dw_path_sums_make(profile, family);
    uint32_t *nodes = calloc(profile->functions.count, sizeof *nodes);
    int error = sums && nodes ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = add_paths(tree, side, profile, place_of_frame, kinds, sums, nodes);
    free(sums);
    free(nodes);
    return error;
}

int dw_diff_tree_make(const struct dw_profile *const profiles[DW_SIDES],
                      const struct dw_diff_places *places, unsigned kinds, enum dw_family family,
                      struct dw_diff_tree *tree)
{
    struct dw_diff_tree made = {0};
    uint32_t root;
    int error = node_of(&made, 0, 0, &root);
    for (enum dw_side side = 0; side < DW_SIDES && !error; side++)
        error = add_profile(&made, side, profiles[side], places->of_frame[side], kinds, family);
    if (error)
        dw_diff_tree_release(&made);
    else
        *tree = made;
    return error;
}

void dw_diff_tree_release(struct dw_diff_tree *tree)
{
    free(tree->nodes);
    dw_map_release(&tree->index);
    *tree = (struct dw_diff_tree){0};
}
