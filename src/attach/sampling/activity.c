/* SPDX-License-Identifier: MIT
 * /proc/PID/task/TID/syscall has "running", or the system call that the thread waits in with its
 * arguments. A thread that waits for the GIL waits for a futex inside of it. */
#include "attach/sampling/activity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GIL_BYTES 256 /* two conditions and two mutexes are in it */

static int open_file(pid_t pid, pid_t id, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)id, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void dw_activity_open(pid_t pid, pid_t id, struct dw_activity_files *files)
{
    *files = (struct dw_activity_files){.syscall_fd = open_file(pid, id, "syscall"),
                                        .turns_fd = open_file(pid, id, "schedstat")};
}

void dw_activity_close(struct dw_activity_files *files)
{
    if (files->syscall_fd >= 0)
        close(files->syscall_fd);
    if (files->turns_fd >= 0)
        close(files->turns_fd);
    *files = (struct dw_activity_files){.syscall_fd = -1, .turns_fd = -1};
}

enum dw_activity dw_activity_parse(const char *text, uint64_t gil)
{
    long number;
    uint64_t argument;
    if (!strncmp(text, "running", 7))
        return DW_ACTIVITY_RUNS;
    if (sscanf(text, "%ld %" SCNx64, &number, &argument) != 2)
        return DW_ACTIVITY_UNKNOWN;
    if (number < 0)
        return DW_ACTIVITY_WAITS_FOR_MEMORY;
    return number == SYS_futex && gil && argument >= gil && argument - gil < GIL_BYTES
               ? DW_ACTIVITY_WAITS_FOR_GIL
               : DW_ACTIVITY_WAITS;
}

/* The text of the file as a string, "" when it cannot be read. */
static void read_text(int fd, char *text, size_t size)
{
    ssize_t got = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = 0;
}

enum dw_activity dw_activity_read(const struct dw_activity_files *files, uint64_t gil)
{
    char text[256];
    read_text(files->syscall_fd, text, sizeof text);
    return dw_activity_parse(text, gil);
}

enum dw_activity dw_activity_find(const struct dw_activity_files *files, uint64_t gil, uint64_t *sp,
                                  uint64_t *pc)
{
    char text[256];
    read_text(files->syscall_fd, text, sizeof text);
    enum dw_activity activity = dw_activity_parse(text, gil);
    bool waits = dw_activity_waits(activity);
    const char *last = waits ? strrchr(text, ' ') : NULL;
    while (last && last > text && last[-1] != ' ')
        last--; /* the last but one */
    if (waits && (!last || sscanf(last, "%" SCNx64 " %" SCNx64, sp, pc) != 2))
        return DW_ACTIVITY_UNKNOWN;
    return activity;
}

/* The kernel counts a thread's turns on a CPU as they begin, so the same text means that it had
 * none. What it says of how long they lasted is late while the thread runs. */
bool dw_activity_has_run(struct dw_activity_files *files)
{
    char now[DW_TURNS_BYTES];
    read_text(files->turns_fd, now, sizeof now);
    bool has_run = !*now || strcmp(now, files->turns) != 0;
    memcpy(files->turns, now, sizeof now);
    return has_run;
}

bool dw_activity_lives(const struct dw_activity_files *files)
{
    char text[DW_TURNS_BYTES];
    read_text(files->turns_fd, text, sizeof text);
    return *text != 0;
}

uint64_t dw_activity_times(const struct dw_activity_files *files, uint64_t *queued_ns)
{
    char text[DW_TURNS_BYTES], *end;
    read_text(files->turns_fd, text, sizeof text);
    uint64_t cpu_ns = strtoull(text, &end, 10);
    *queued_ns = strtoull(end, NULL, 10);
    return cpu_ns;
}

uint64_t dw_activity_cpu_ns(const struct dw_activity_files *files)
{
    uint64_t queued_ns;
    return dw_activity_times(files, &queued_ns);
}
