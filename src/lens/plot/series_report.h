/* SPDX-License-Identifier: MIT
 * Series as tables: of every process and thread that has some, a row for each time at which they
 * were read. For people the rows are as many as fit, each the highest of its stretch of time. */
#ifndef DW_LENS_PLOT_SERIES_REPORT_H
#define DW_LENS_PLOT_SERIES_REPORT_H

#include "lens/lens.h"

/* `limit` is the number of rows of each process; tables have 30 when it is 0, data has all. */
extern const struct dw_lens dw_series_table, dw_series_csv, dw_series_json;

/* Whether the profile holds series and nothing else. */
bool dw_series_are_all(const struct dw_profile *profile);

#endif
