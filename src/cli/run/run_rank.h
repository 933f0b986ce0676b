/* SPDX-License-Identifier: MIT
 * `dwell run` under mpirun or srun: each rank has a file of its own, and rank 0 speaks for all. */
#ifndef DW_CLI_RUN_RUN_RANK_H
#define DW_CLI_RUN_RUN_RANK_H

#include <stdbool.h>
#include <stddef.h>

/* The name of a recording, `out` or one made of the program's name; with .rankN in it where this
 * process is a rank. As snprintf: the size that it needs. */
int dw_run_rank_name(const char *out, const char *program, char *name, size_t size);
/* Whether this process is a rank and not in the list, "0,7". */
bool dw_run_rank_is_left_out(const char *list);
/* Whether another rank reports. */
bool dw_run_rank_is_silent(void);
/* As rank 0, waits until the ranks that are recorded have ended and makes one recording, `out`, of
 * theirs, which then are no more unless `keeps`. Whether that is so; if not, it has said why. */
bool dw_run_rank_merge(const char *out, const char *list, bool keeps);
/* How to see all ranks at once, where this is one. */
void dw_run_rank_say_merge(const char *out, const char *program);

#endif
