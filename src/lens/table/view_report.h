/* SPDX-License-Identifier: MIT
 * The view as a table for people, as CSV and as JSON (docs/json.md). */
#ifndef DW_LENS_TABLE_VIEW_REPORT_H
#define DW_LENS_TABLE_VIEW_REPORT_H

#include "lens/lens.h"
#include "lens/view/view.h"

/* They want options->view, and are not in the list of lenses. */
extern const struct dw_lens dw_view_table, dw_view_csv, dw_view_json;

#endif
