/* SPDX-License-Identifier: MIT
 * Reports of what there is over time. */
#ifndef DW_CLI_TIME_REPORT_H
#define DW_CLI_TIME_REPORT_H

#include "model/profile.h"

/* Reads the files and reports them; the status. */
int dw_time_report(char **files, int count, const char *format, const char *limit);
/* The same of a profile that was read without its timeline. */
int dw_time_report_show(const struct dw_profile *profile, const char *format, const char *limit,
                        const char *file);

#endif
