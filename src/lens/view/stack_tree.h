/* SPDX-License-Identifier: MIT
 * The samples on each path of a profile, all threads together: what reports of samples and exports
 * with lines are made of. */
#ifndef DW_LENS_VIEW_STACK_TREE_H
#define DW_LENS_VIEW_STACK_TREE_H

#include "lens/view/measured.h"
#include "lens/view/speller.h"

struct dw_stack_sums {
    uint64_t count; /* samples */
    uint64_t weight;
};

struct dw_stack_tree {
    const struct dw_profile *profile;
    const struct dw_path *paths; /* the profile's */
    uint32_t count;
    /* Of each path, of all threads together: */
    struct dw_stack_sums *self, *total;
};

int dw_stack_tree_make(const struct dw_profile *profile, struct dw_stack_tree *tree);
void dw_stack_tree_release(struct dw_stack_tree *tree);

static inline const struct dw_place *dw_stack_tree_place(const struct dw_stack_tree *tree,
                                                         dw_path_id path)
{
    return &tree->profile->places.places[tree->paths[path].step];
}
static inline const struct dw_frame *dw_place_frame(const struct dw_profile *profile,
                                                    const struct dw_place *place)
{
    return &profile->frames.frames[place->frame];
}
/* The file of the object that native code is in; empty when that is not known. */
struct dw_string dw_place_module(const struct dw_profile *profile, const struct dw_place *place);
/* The file of the source; empty when that is not known. */
struct dw_string dw_place_source(const struct dw_profile *profile, const struct dw_place *place);

/* Whether nothing else was asked for; there may be none of them. */
bool dw_samples_are_all(const struct dw_profile *profile);

#endif
