/* SPDX-License-Identifier: MIT
 * From a profile of lines to a ledger: a whole log in memory, or the file of the process, which
 * grows while the program runs. */
#ifndef DW_PROBE_LINE_LINE_LOG_H
#define DW_PROBE_LINE_LINE_LOG_H

#include "probe/line/line_probe.h"
#include "record/ledger.h"

/* The context is the profile. To a file that is its own it writes what is new, to others all. */
dw_collect dw_lines_collect;

/* From now on the profile goes to the file too. 0 or an error. */
int dw_line_log_start(struct dw_line_profile *profile, const char *path);
void dw_line_log_stop(struct dw_line_profile *profile);

#endif
