/* SPDX-License-Identifier: MIT
 * The stacks of all samples by function and line, whatever the address or column was. */
#ifndef DW_LENS_VIEW_LINE_STACKS_H
#define DW_LENS_VIEW_LINE_STACKS_H

#include "lens/view/place_spots.h"
#include "lens/view/stack_tree.h"

struct dw_line_stacks {
    struct dw_place_spots spots;
    struct dw_path_tree paths;          /* of spots */
    struct dw_stack_sums *self, *total; /* of each path */
};

int dw_line_stacks_make(const struct dw_profile *profile, struct dw_line_stacks *stacks);
void dw_line_stacks_release(struct dw_line_stacks *stacks);

#endif
