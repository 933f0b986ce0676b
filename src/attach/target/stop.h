/* SPDX-License-Identifier: MIT
 * Stopping one thread of another process for a moment. */
#ifndef DW_ATTACH_TARGET_STOP_H
#define DW_ATTACH_TARGET_STOP_H

#include <stdbool.h>
#include <sys/types.h>

#include "native/unwind/unwind.h"

/* Stops thread `id` of the process `pid`. False when that is not possible: it ended, became another
 * program, or somebody else traces it. */
bool dw_thread_stop(pid_t pid, pid_t id, int *signal);
/* The registers of a stopped thread. */
bool dw_thread_registers(pid_t id, struct dw_registers *registers);
/* Lets it go on, with the signal that dw_thread_stop kept it from getting. */
void dw_thread_let_go(pid_t id, int signal);

#endif
