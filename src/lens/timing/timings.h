/* SPDX-License-Identifier: MIT
 * Timings as a table and in JSON, each compared with the first. */
#ifndef DW_LENS_TIMING_TIMINGS_H
#define DW_LENS_TIMING_TIMINGS_H

#include "lens/lens.h"

/* Whether a profile holds timings and nothing else. */
bool dw_timings_are_all(const struct dw_profile *profile);

/* Not in the list of lenses: for profiles with timings only. */
extern const struct dw_lens dw_timing_table;

/* The members "timings" and "comparisons" of a JSON object, after others. */
int dw_timings_put_json(struct dw_out *out, const struct dw_profile *profile);

#endif
