/* SPDX-License-Identifier: MIT
 * What the kernel says a thread is doing at this moment, by one small read. */
#ifndef DW_ATTACH_ACTIVITY_H
#define DW_ATTACH_ACTIVITY_H

#include <stdint.h>
#include <sys/types.h>

enum dw_activity {
    DW_ACTIVITY_UNKNOWN, /* the system does not say */
    DW_ACTIVITY_RUNS,
    DW_ACTIVITY_WAITS,
    DW_ACTIVITY_WAITS_FOR_GIL,
};

/* A descriptor for dw_activity_read, -1 when there is none. */
int dw_activity_open(pid_t pid, pid_t id);
/* `gil` is where the GIL of the thread's interpreter is. */
enum dw_activity dw_activity_read(int fd, uint64_t gil);
/* What the text of /proc/PID/task/TID/syscall means. */
enum dw_activity dw_activity_parse(const char *text, uint64_t gil);

#endif
