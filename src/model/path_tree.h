/* SPDX-License-Identifier: MIT
 * Call paths: a path is a step under a parent path. Steps are places (place_table.h) in the one
 * tree that all probes share, and frames in the tree of functions that is made of it. Path 0 is the
 * root, its own parent; a parent's id is always smaller than its children's. */
#ifndef DW_MODEL_PATH_TREE_H
#define DW_MODEL_PATH_TREE_H

#include "model/frame_table.h"

typedef uint32_t dw_path_id;

#define DW_PATH_ROOT 0u

struct dw_path {
    dw_path_id parent;
    uint32_t step; /* a place, or a frame */
};

struct dw_path_tree {
    struct dw_path *paths;
    uint32_t count;
    uint32_t capacity;
    struct dw_map index;
};

int dw_path_tree_init(struct dw_path_tree *tree);
void dw_path_tree_release(struct dw_path_tree *tree);
/* The path of `step` under `parent`, which must exist. */
int dw_path_intern(struct dw_path_tree *tree, dw_path_id parent, uint32_t step, dw_path_id *id);
/* A path that no other has, without a search for it; dw_path_intern will not find it. */
int dw_path_append(struct dw_path_tree *tree, dw_path_id parent, uint32_t step, dw_path_id *id);

#endif
