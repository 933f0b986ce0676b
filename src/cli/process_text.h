/* SPDX-License-Identifier: MIT
 * Process ids as words, and what is said when a process ends or cannot be read. */
#ifndef DW_CLI_PROCESS_TEXT_H
#define DW_CLI_PROCESS_TEXT_H

#include "attach/python/python_runtime.h"

struct dw_option;
/* Parses the options and the one operand of a command that takes a process. 0, or DW_EXIT_USAGE
 * after saying what is wrong. */
int dw_cli_parse_process(const struct dw_option *options, int argc, char **argv, pid_t *pid);
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_pid(const char *command, const char *word, pid_t *pid);
/* Says why, and what helps; `python` is as much as was found. Returns DW_EXIT_TROUBLE. */
int dw_cli_process_trouble(pid_t pid, const struct dw_python *python, int error);
/* Says that the recording of a process is over, though nobody stopped it. */
void dw_cli_process_end(pid_t pid, bool is_barred);

#endif
