/* SPDX-License-Identifier: MIT
 * Commands that go on until somebody ends them. */
#ifndef DW_CLI_STOP_SIGNAL_H
#define DW_CLI_STOP_SIGNAL_H

/* Other than 0: it is time to end. */
extern volatile int dw_cli_stopped;

/* From now on Ctrl-C and the like only set it, and end what sleeps; writing to a pipe that
 * nobody reads is an error as any other. */
void dw_cli_catch_stop(void);

#endif
