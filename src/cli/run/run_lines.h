/* SPDX-License-Identifier: MIT
 * The lines that a run has recorded, as far as a screen has room for them. */
#ifndef DW_CLI_RUN_RUN_LINES_H
#define DW_CLI_RUN_RUN_LINES_H

#include "lens/view/line_list.h"

/* The whole report when it has hardly more than so many rows, else so many of the lines that took
 * longest. */
void dw_run_put_lines(struct dw_out *out, const struct dw_profile *profile, bool callees,
                      size_t rows);

#endif
