/* SPDX-License-Identifier: MIT
 * From samples to times of lines. */
#ifndef DW_MODEL_LINE_FOLD_H
#define DW_MODEL_LINE_FOLD_H

#include "model/profile.h"

#define DW_INLINED_PLACES_MAX 64 /* places that one stands for; more is no program's */

/* The place and those that it was inlined into, the innermost first; returns how many. */
uint32_t dw_place_spell(const struct dw_profile *profile, dw_place_id place,
                        dw_place_id chain[DW_INLINED_PLACES_MAX]);

/* Adds the samples of all threads to the table of lines; a line counts once in each of them. */
int dw_samples_fold_lines(struct dw_profile *profile);

#endif
