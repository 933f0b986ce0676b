/* SPDX-License-Identifier: MIT
 * What was spent on each path of a profile, all threads together: what reports of samples and
 * exports with lines are made of. */
#ifndef DW_LENS_VIEW_STACK_TREE_H
#define DW_LENS_VIEW_STACK_TREE_H

#include "lens/view/measured.h"
#include "lens/view/speller.h"

struct dw_stack_sums {
    uint64_t count;  /* samples, calls or entries */
    uint64_t weight; /* as that of samples, or own time */
};

struct dw_stack_tree {
    const struct dw_profile *profile;
    const struct dw_path *paths; /* the profile's */
    uint32_t count;
    /* Of each path, of all threads together: */
    struct dw_stack_sums *self, *total;
    struct dw_room room;
};

/* Of a family. What a thread spent in no call or region at all is left out. */
int dw_stack_tree_make(const struct dw_profile *profile, enum dw_family family,
                       struct dw_stack_tree *tree);
void dw_stack_tree_release(struct dw_stack_tree *tree);

static inline const struct dw_frame *dw_place_frame(const struct dw_profile *profile,
                                                    const struct dw_place *place)
{
    return &profile->frames.frames[place->frame];
}
/* The line that it is in; of a function as a whole the first. */
static inline uint32_t dw_place_line(const struct dw_profile *profile, const struct dw_place *place)
{
    return place->line ? place->line : dw_place_frame(profile, place)->line;
}
/* The file of the object that native code is in; empty when that is not known. */
struct dw_string dw_place_module(const struct dw_profile *profile, const struct dw_place *place);
/* The file of the source; empty when that is not known. */
struct dw_string dw_place_source(const struct dw_profile *profile, const struct dw_place *place);

/* Whether nothing else was asked for; there may be none of them. */
bool dw_samples_are_all(const struct dw_profile *profile);

#endif
