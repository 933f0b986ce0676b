/* SPDX-License-Identifier: MIT
 * Whether a thread has a CPU at this moment. The kernel notes when it gets one and when it loses
 * it, in memory that is read without a system call and without disturbing the thread. */
#ifndef DW_ATTACH_SAMPLING_SWITCHES_H
#define DW_ATTACH_SAMPLING_SWITCHES_H

#include <stdbool.h>
#include <sys/types.h>

/* NULL where the kernel does not let us; nothing is known then. */
void *dw_switches_open(pid_t thread);
void dw_switches_close(void *switches);
/* It has a CPU, or just had one. True too when that is not known. */
bool dw_switches_had_cpu(const void *switches);

#endif
