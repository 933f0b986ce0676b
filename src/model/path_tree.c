/* SPDX-License-Identifier: MIT
 * Paths that are interned are found by their parent and step; those that are appended are not. */
#include "model/path_tree.h"

#include "base/grow.h"

#include <assert.h>

static uint64_t hash_path(const struct dw_path *path)
{
    return dw_hash_mix((uint64_t)path->parent << 32 | path->step);
}

static bool equal(const void *entries, uint32_t id, const void *key)
{
    const struct dw_path *a = (const struct dw_path *)entries + id, *b = key;
    return a->parent == b->parent && a->step == b->step;
}

static uint64_t hash_of(const void *entries, uint32_t id)
{
    return hash_path((const struct dw_path *)entries + id);
}

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
    struct dw_path key = {parent, step};
    uint64_t hash = hash_path(&key);
    uint32_t found = dw_map_find(&tree->index, hash, equal, tree->paths, &key);
    if (found != DW_MAP_NONE) {
        *id = found;
        return 0;
    }
    int error = DW_GROW(tree->paths, tree->count, tree->capacity);
    if (error)
        return error;
    tree->paths[tree->count] = key;
    error = dw_map_add(&tree->index, hash, tree->count, hash_of, tree->paths);
    if (!error)
        *id = tree->count++;
    return error;
}
