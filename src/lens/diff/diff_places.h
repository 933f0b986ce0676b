/* SPDX-License-Identifier: MIT
 * Which frames of two profiles are the same place. Code moves: between two versions
 * its lines change with every edit above it, its directory with every checkout. So
 * a place is its file and name; the line only tells apart what has one name. */
#ifndef DW_LENS_DIFF_DIFF_PLACES_H
#define DW_LENS_DIFF_DIFF_PLACES_H

#include "lens/diff/diff_files.h"

struct dw_diff_place {
    uint32_t kind;                      /* enum dw_frame_kind */
    dw_frame_id frames[DW_SIDES];       /* one of those that it stands for */
    bool is_in[DW_SIDES];               /* whether there is one */
    struct dw_string name, file, moved; /* of the new side where it has one; moved: the file it
                                           was in, when that was another */
    struct dw_string shown;             /* the file, as short as tells the place from others */
    uint32_t line;
};

struct dw_diff_places {
    struct dw_diff_place *places; /* place 0 is the root */
    uint32_t count;
    uint32_t *of_frame[DW_SIDES]; /* DW_DIFF_NONE for frames that take no time */
    struct dw_room room;
};

int dw_diff_places_make(const struct dw_profile *const profiles[DW_SIDES],
                        struct dw_diff_places *places);
void dw_diff_places_release(struct dw_diff_places *places);

#endif
