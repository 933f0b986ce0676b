/* SPDX-License-Identifier: MIT
 * A child process that stands in for us: signals reach it, and we end as it does. */
#ifndef DW_CLI_CHILD_H
#define DW_CLI_CHILD_H

/* Runs `program` with the arguments and waits. Its wait status, or -1 with errno. */
int dw_child_run(const char *program, char *const *arguments);
/* An exit status for us; a child killed by a signal kills us with the same one. */
int dw_child_exit(int status);

#endif
