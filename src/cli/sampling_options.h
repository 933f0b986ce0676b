/* SPDX-License-Identifier: MIT
 * Options of the commands that sample, and what they say at the end. */
#ifndef DW_CLI_SAMPLING_OPTIONS_H
#define DW_CLI_SAMPLING_OPTIONS_H

#include "attach/sampling/recording.h"

/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_rate(const char *word, uint64_t *period_ns);
int dw_cli_parse_mode(const char *word, enum dw_sample_mode *mode);
/* The table of the functions in a recording, on stderr. */
void dw_cli_report_samples(const char *path);

#endif
