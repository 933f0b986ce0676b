/* SPDX-License-Identifier: MIT
 * `dwell attach --heap`: a picture of the heap of a running process, taken from outside. */
#ifndef DW_CLI_ATTACH_HEAP_H
#define DW_CLI_ATTACH_HEAP_H

#include <stdbool.h>
#include <sys/types.h>

/* The exit status. `is_path_ours`: nobody has given the name of the file. */
int dw_cli_attach_heap(pid_t pid, const char *path, bool is_path_ours, bool is_quiet);

#endif
