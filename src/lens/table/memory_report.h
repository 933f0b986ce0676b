/* SPDX-License-Identifier: MIT
 * What a program allocated, for people: sums, what was there at the peak, what was left. */
#ifndef DW_LENS_TABLE_MEMORY_REPORT_H
#define DW_LENS_TABLE_MEMORY_REPORT_H

#include "lens/lens.h"

/* options->limit is the number of rows of its tables. It is not in the list of lenses. */
extern const struct dw_lens dw_memory_table;

#endif
