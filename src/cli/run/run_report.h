/* SPDX-License-Identifier: MIT
 * What `dwell run` says when the program has ended. */
#ifndef DW_CLI_RUN_RUN_REPORT_H
#define DW_CLI_RUN_RUN_REPORT_H

#include "cli/run/child.h"
#include "cli/run/recordings.h"

#include <stdbool.h>

struct dw_run_end {
    const char *out_file; /* absolute */
    const char *name;     /* the same as the user would type it */
    bool is_name_ours;    /* we made the name up: an empty file is removed */
    char *const *words;   /* of the command line, behind "dwell run" */
    int status;           /* of wait(2) */
    struct dw_child_times times;
    bool samples, calls, regions, lines; /* were asked for; regions: by name */
    bool memory;
    bool wall;         /* samples are of elapsed time, not of CPU time */
    bool callees;      /* what lines call, too */
    bool named;        /* functions were named with -f */
    bool may_be_calls; /* no option was given that excludes --calls */
    bool follows;      /* its children are recorded too */
    const struct dw_recordings *recordings;
};

/* How the program ended, where its time went, and what to type next. */
void dw_run_report(const struct dw_run_end *end);
/* The same when there is no recording, and why. */
void dw_run_report_nothing(const struct dw_run_end *end, const char *reason);

#endif
