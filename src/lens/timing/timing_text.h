/* SPDX-License-Identifier: MIT
 * What timings are told to people in: times, and reasons not to trust them. */
#ifndef DW_LENS_TIMING_TIMING_TEXT_H
#define DW_LENS_TIMING_TIMING_TEXT_H

#include "base/out.h"
#include "base/statistics.h"
#include "model/profile.h"

/* "28.4 µs": so many significant digits, and minutes from 60 s on. */
void dw_timing_put_time(struct dw_out *out, double ns, int digits);

/* The time of each run for one of its loops, to be freed. 0 or DW_ERR_MEMORY. */
int dw_timing_values(const struct dw_timing *timing, double **values_ns);

/* What there is to know of such values beside themselves. */
struct dw_timing_facts {
    size_t runs; /* at least 1 */
    double loops;
    size_t group; /* runs of each process, 0 when one made them all */
    double confidence;
};

/* Of all runs; but when there are several processes, all but the mean, its deviation and the
 * extremes is of the processes' medians: runs of one are not independent. */
int dw_timing_summarize(const double *values_ns, const struct dw_timing_facts *facts,
                        struct dw_summary *summary);

/* One sentence a line for each reason why the figures cannot be trusted; nothing if there is none.
 */
void dw_timing_put_warnings(struct dw_out *out, const struct dw_summary *summary,
                            const struct dw_timing_facts *facts);

#endif
