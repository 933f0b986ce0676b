/* SPDX-License-Identifier: MIT
 * `dwell attach PID --memory`. */
#ifndef DW_CLI_ATTACH_MEMORY_H
#define DW_CLI_ATTACH_MEMORY_H

#include <sys/types.h>

/* Records what the process allocates into that file until Ctrl-C, its end or so many seconds. The
 * mode is "sampled" or "exact". 0, or the exit status after saying why not. */
int dw_attach_memory(pid_t pid, const char *path, const char *mode, double seconds);

#endif
