/* SPDX-License-Identifier: MIT
 * How logs are called. "NAME.dwell" is the log of the process that was asked for; "NAME.PID.dwell"
 * is that of a child, and "NAME.PID.NUMBER.dwell" one of a child that became another program. */
#ifndef DW_LOG_LOG_NAME_H
#define DW_LOG_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How much of a path is NAME. */
size_t dw_log_stem_size(const char *path);
/* Makes the path that of a process, behind NAME; `number` counts its logs from 1 on. 0, or an error
 * with errno. */
int dw_log_name_child(char *path, size_t size, size_t stem_size, pid_t pid, unsigned number);
/* The same with the first number that no file has. */
int dw_log_name_unused(char *path, size_t size, size_t stem_size, pid_t pid);
/* Whether it is the name of a child's log, or of a log of a child's child. */
bool dw_log_is_of_child(const char *name, const char *stem, size_t stem_size);
/* Whether the path was made up for this process, so that nobody has asked for it by that name. */
bool dw_log_is_made_up(const char *path);

#endif
