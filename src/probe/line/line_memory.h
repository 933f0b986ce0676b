/* SPDX-License-Identifier: MIT
 * The memory of the process that is resident, before and after each hit of a line; and by how much
 * what the thread allocated, less what it freed, rose at most while the line ran, when allocations
 * are recorded too. */
#ifndef DW_PROBE_LINE_LINE_MEMORY_H
#define DW_PROBE_LINE_LINE_MEMORY_H

#include "probe/line/line_probe.h"

/* A function begins, or a generator goes on. */
void dw_line_begin_memory(struct dw_line_activation *open);
/* The line that it is on ends at that tick, and the next one begins. */
void dw_line_end_memory(struct dw_line_activation *open, uint64_t now);
/* Then, when the function ends: its caller goes on. */
void dw_line_leave_memory(struct dw_line_activation *open);
/* In a forked child: the memory of this process is another one's. */
void dw_line_memory_forked(void);

#endif
