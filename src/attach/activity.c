/* SPDX-License-Identifier: MIT
 * /proc/PID/task/TID/syscall has "running", or the system call that the thread waits in with its
 * arguments. A thread that waits for the GIL waits for a futex inside of it. */
#include "attach/activity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <inttypes.h>

#define GIL_BYTES 256 /* two conditions and two mutexes are in it */

int dw_activity_open(pid_t pid, pid_t id)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)id);
    return open(path, O_RDONLY | O_CLOEXEC);
}

enum dw_activity dw_activity_parse(const char *text, uint64_t gil)
{
    long number;
    uint64_t argument;
    if (!strncmp(text, "running", 7))
        return DW_ACTIVITY_RUNS;
    if (sscanf(text, "%ld %" SCNx64, &number, &argument) != 2)
        return DW_ACTIVITY_UNKNOWN;
    return number == SYS_futex && gil && argument >= gil && argument - gil < GIL_BYTES
               ? DW_ACTIVITY_WAITS_FOR_GIL
               : DW_ACTIVITY_WAITS;
}

enum dw_activity dw_activity_read(int fd, uint64_t gil)
{
    char text[256];
    ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (size <= 0)
        return DW_ACTIVITY_UNKNOWN;
    text[size] = 0;
    return dw_activity_parse(text, gil);
}
