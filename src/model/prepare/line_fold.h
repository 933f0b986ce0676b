/* SPDX-License-Identifier: MIT
 * From rows of the profile to its table of lines. */
#ifndef DW_MODEL_PREPARE_LINE_FOLD_H
#define DW_MODEL_PREPARE_LINE_FOLD_H

#include "model/profile.h"

/* Adds what was measured on lines that were watched; before samples are added. */
int dw_rows_fold_lines(struct dw_profile *profile);
/* Adds the samples of all threads to the table of lines; a line counts once in each of them. */
int dw_samples_fold_lines(struct dw_profile *profile);

#endif
