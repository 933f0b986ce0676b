/* SPDX-License-Identifier: MIT
 * The lines of one side of a diff. */
#ifndef DW_LENS_DIFF_DIFF_LINES_H
#define DW_LENS_DIFF_DIFF_LINES_H

#include "lens/diff/diff_tree.h"

struct dw_diff_line {
    uint32_t place, line; /* line 0: what has none */
    struct dw_diff_sums sums;
    struct dw_string text; /* trimmed; bytes are NULL where it is not known */
};

struct dw_diff_lines {
    struct dw_diff_line *lines; /* by place, then line */
    uint32_t count;
};

/* diff_sampled_lines.c: in any order, and perhaps several times the same. `place_of` has the places
 * of frames. */
int dw_diff_lines_of_samples(const struct dw_profile *profile, const uint32_t *place_of,
                             struct dw_diff_lines *lines);

#endif
