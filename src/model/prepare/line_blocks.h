/* SPDX-License-Identifier: MIT
 * What lines that were watched allocated, beside what else is known of them. */
#ifndef DW_MODEL_PREPARE_LINE_BLOCKS_H
#define DW_MODEL_PREPARE_LINE_BLOCKS_H

#include "model/profile.h"

int dw_blocks_fold_lines(struct dw_profile *profile);

#endif
