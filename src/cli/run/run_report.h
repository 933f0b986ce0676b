/* SPDX-License-Identifier: MIT
 * What `dwell run` says when the program has ended. */
#ifndef DW_CLI_RUN_RUN_REPORT_H
#define DW_CLI_RUN_RUN_REPORT_H

#include "cli/run/child.h"
#include "cli/run/recordings.h"
#include "cli/run/run_options.h"

#include <stdbool.h>

struct dw_run_end {
    const char *out_file;               /* absolute */
    const char *name;                   /* the same as the user would type it */
    const struct dw_run_options *asked; /* what was asked for */
    int status;                         /* of wait(2) */
    struct dw_child_times times;
    const struct dw_recordings *recordings;
};

/* How the program ended, where its time went, and what to type next. */
void dw_run_report(const struct dw_run_end *end);
/* The same when there is no recording, and why. */
void dw_run_report_nothing(const struct dw_run_end *end, const char *reason);

#endif
