/* SPDX-License-Identifier: MIT
 * Options of the commands that sample, how they end, and what they say then. */
#ifndef DW_CLI_SAMPLING_OPTIONS_H
#define DW_CLI_SAMPLING_OPTIONS_H

#include "attach/sampling/recording.h"

/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_rate(const char *word, uint64_t *period_ns);
int dw_cli_parse_mode(const char *word, enum dw_sample_mode *mode);
/* The table of the functions in a recording, on stderr. */
void dw_cli_report_samples(const char *path);

/* Other than 0: it is time to end. */
extern volatile int dw_cli_stopped;

/* From now on Ctrl-C and the like only set it, and end what sleeps; writing to a pipe that
 * nobody reads is an error as any other. */
void dw_cli_catch_stop(void);

#endif
