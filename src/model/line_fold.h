/* SPDX-License-Identifier: MIT
 * From samples to times of lines. */
#ifndef DW_MODEL_LINE_FOLD_H
#define DW_MODEL_LINE_FOLD_H

#include "model/profile.h"

/* Adds the samples of all threads to the table of lines; a line counts once in each of them. */
int dw_samples_fold_lines(struct dw_profile *profile);

#endif
