/* SPDX-License-Identifier: MIT
 * The view as a table for people, as CSV and as JSON (docs/json.md). */
#ifndef DW_LENS_TABLE_VIEW_REPORT_H
#define DW_LENS_TABLE_VIEW_REPORT_H

#include "lens/lens.h"
#include "lens/view/view.h"

/* They want options->view, and are not in the list of lenses. */
extern const struct dw_lens dw_view_table, dw_view_csv, dw_view_json;

/* What a program allocated, for people: sums, what was there at the peak, what was left.
 * options->limit is the number of rows of its tables. It is not in the list of lenses either. */
extern const struct dw_lens dw_memory_table;

/* What is alive, by type or another key of the heap, in guppy's columns. */
extern const struct dw_lens dw_heap_table;

#endif
