/* SPDX-License-Identifier: MIT
 * The sentences of a report of a run: how it went, and what to type next. */
#ifndef DW_CLI_RUN_RUN_TEXT_H
#define DW_CLI_RUN_RUN_TEXT_H

#include "base/out.h"
#include "cli/run/run_report.h"
#include "model/sample.h"

/* The samples of a run. */
struct dw_run_samples {
    uint64_t count;
    uint64_t weight_ns; /* of all of them */
    uint64_t state_ns[DW_SAMPLE_STATES];
};

/* What the recording may hold, in the order of the report; the first decides what to suggest. */
enum dw_run_kind {
    DW_RUN_SAMPLES,
    DW_RUN_CALLS,
    DW_RUN_MEMORY,
    DW_RUN_REGIONS,
    DW_RUN_LINES,
    DW_RUN_KINDS,
};

struct dw_run_samples dw_run_samples_of(const struct dw_profile *profile);
/* Whether there are too few of them for shares to mean something. */
bool dw_run_is_short(const struct dw_run_end *end, const struct dw_run_samples *samples);

/* "dwell: ran 1.62 s, on a CPU for 1.58 s", or how it failed, without the end of the line. */
void dw_run_put_times(struct dw_out *out, const struct dw_run_end *end);
/* The same with what the samples say, and a line about programs that it started. */
void dw_run_put_ending(struct dw_out *out, const struct dw_run_end *end,
                       const struct dw_run_samples *samples, uint32_t recorded_children);
/* Where the recording is and commands that go on from here. */
void dw_run_put_next(struct dw_out *out, const struct dw_run_end *end, enum dw_run_kind kind,
                     const struct dw_run_samples *samples);
/* Files of children that are not in the recording. */
void dw_run_put_left_out(struct dw_out *out, const struct dw_recordings *recordings);
/* Why there is nothing of what was asked for, and what helps. */
void dw_run_put_no_regions(struct dw_out *out);
void dw_run_put_no_lines(struct dw_out *out, const struct dw_run_end *end);

#endif
