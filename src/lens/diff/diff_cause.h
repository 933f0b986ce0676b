/* SPDX-License-Identifier: MIT
 * Why a diff is what it is: the few rows that explain most of it. */
#ifndef DW_LENS_DIFF_DIFF_CAUSE_H
#define DW_LENS_DIFF_DIFF_CAUSE_H

#include "lens/diff/diff.h"

#define DW_DIFF_CAUSES_MAX 3

/* Indices of the rows, largest contribution first; returns how many. None when no change is
 * worth naming. */
uint32_t dw_diff_causes(const struct dw_diff *diff, uint32_t rows[DW_DIFF_CAUSES_MAX]);
/* "called 3x more often", "each call 2.1x slower", "new", "gone". */
void dw_diff_put_reason(struct dw_out *out, const struct dw_diff *diff,
                        const struct dw_diff_row *row);
/* "parse → tokenise": the row and what it is called from. */
void dw_diff_put_where(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row);

#endif
