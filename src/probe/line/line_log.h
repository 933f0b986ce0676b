/* SPDX-License-Identifier: MIT
 * The log that a profile of lines goes to while the program runs. */
#ifndef DW_PROBE_LINE_LINE_LOG_H
#define DW_PROBE_LINE_LINE_LOG_H

#include "model/line_table.h"
#include "probe/line/line_probe.h"
#include "record/ledger.h"

struct dw_line_log {
    struct dw_ledger *ledger;
    struct dw_line_table written; /* what the log has */
};

/* From now on the profile goes to the file too. 0 or an error. */
int dw_line_log_start(struct dw_line_profile *profile, const char *path);
void dw_line_log_stop(struct dw_line_profile *profile);

#endif
