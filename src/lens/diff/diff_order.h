/* SPDX-License-Identifier: MIT
 * Pairs two sequences that kept their order, as the lines of a file do from one
 * version to the next. */
#ifndef DW_LENS_DIFF_DIFF_ORDER_H
#define DW_LENS_DIFF_DIFF_ORDER_H

#include "lens/diff/diff_files.h"

/* How far code moved in a file, known from what could be paired without doubt. */
struct dw_diff_anchors {
    struct dw_diff_anchor {
        uint32_t file, old_line, new_line;
    } * anchors;
    uint32_t count, capacity;
};

int dw_diff_anchor_add(struct dw_diff_anchors *anchors, uint32_t file, uint32_t old_line,
                       uint32_t new_line);
void dw_diff_anchors_sort(struct dw_diff_anchors *anchors);
void dw_diff_anchors_release(struct dw_diff_anchors *anchors);

/* Pairs lines, given in order, so that as many as can be have a mate and the mates are where
 * the anchors say that they should be. mates[i] is the index of the new line of the old line i. */
int dw_diff_pair_lines(const struct dw_diff_anchors *anchors, uint32_t file, const uint32_t *old,
                       uint32_t old_count, const uint32_t *new, uint32_t new_count,
                       uint32_t *mates);

/* Pairs equal texts, as many as can be without crossing; what was edited in place, between
 * pairs, is paired in order where both sides have as much of it. */
int dw_diff_pair_texts(const struct dw_string *old, uint32_t old_count, const struct dw_string *new,
                       uint32_t new_count, uint32_t *mates);

#endif
