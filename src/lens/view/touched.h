/* SPDX-License-Identifier: MIT
 * The paths that something was spent on, with all that they lie under, so that it can be added up
 * from the leaves to the root without a look at any other path. */
#ifndef DW_LENS_VIEW_TOUCHED_H
#define DW_LENS_VIEW_TOUCHED_H

#include "base/room.h"
#include "model/path_tree.h"

struct dw_touched {
    const struct dw_path_tree *tree;
    bool *is_in; /* of each path */
    dw_path_id *paths;
    uint32_t count;
    struct dw_room room;
};

/* Release it in any case. */
int dw_touched_init(struct dw_touched *touched, const struct dw_path_tree *tree);
void dw_touched_release(struct dw_touched *touched);
/* Adds a path and those above it, as far as they are not in yet. */
static inline void dw_touched_add(struct dw_touched *touched, dw_path_id path)
{
    while (!touched->is_in[path]) {
        touched->is_in[path] = true;
        touched->paths[touched->count++] = path;
        path = touched->tree->paths[path].parent;
    }
}
/* Puts the paths into the order of their ids, the last first: children come before parents. */
void dw_touched_sort(struct dw_touched *touched);
void dw_touched_clear(struct dw_touched *touched);

#endif
