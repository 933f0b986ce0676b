/* SPDX-License-Identifier: MIT
 * A child process that stands in for us: signals reach it, and we end as it does. */
#ifndef DW_CLI_CHILD_H
#define DW_CLI_CHILD_H

#include <sys/types.h>

/* Runs `program` with the arguments and waits. Its wait status, or -1 with errno. */
int dw_child_run(const char *program, char *const *arguments);
/* Starts it and leaves signals alone; what it writes goes to `output` when that is no -1. Its
 * id, or -1 with errno. */
pid_t dw_child_start(const char *program, char *const *arguments, int output);
/* An exit status for us; a child killed by a signal kills us with the same one. */
int dw_child_exit(int status);

#endif
