/* SPDX-License-Identifier: MIT
 * Paths that are interned are found by their parent and step; those that are appended are not, as a
 * rule. Most paths come right after their parent, and are found there without an index. */
#include "model/path_tree.h"

#include "base/intern.h"

#include <assert.h>

int dw_path_tree_init(struct dw_path_tree *tree)
{
    *tree = (struct dw_path_tree){0};
    int error = DW_GROW(tree->paths, tree->count, tree->capacity);
    if (!error)
        tree->paths[tree->count++] = (struct dw_path){DW_PATH_ROOT, 0};
    return error;
}

void dw_path_tree_release(struct dw_path_tree *tree)
{
    free(tree->paths);
    dw_map_release(&tree->index);
    *tree = (struct dw_path_tree){0};
}

int dw_path_append(struct dw_path_tree *tree, dw_path_id parent, uint32_t step, dw_path_id *id)
{
    assert(parent < tree->count);
    int error = DW_GROW(tree->paths, tree->count, tree->capacity);
    if (error)
        return error;
    tree->paths[tree->count] = (struct dw_path){parent, step};
    *id = tree->count++;
    return 0;
}

int dw_path_intern(struct dw_path_tree *tree, dw_path_id parent, uint32_t step, dw_path_id *id)
{
    assert(parent < tree->count);
    struct dw_path path = {parent, step};
    const struct dw_path *next = &tree->paths[parent + 1];
    if (parent + 1 == tree->count) /* so nothing is under it yet */
        return dw_path_append(tree, parent, step, id);
    if (next->parent == parent && next->step == step) {
        *id = parent + 1;
        return 0;
    }
    return DW_INTERN(tree->paths, tree->count, tree->capacity, tree->index, sizeof path, &path, id);
}
