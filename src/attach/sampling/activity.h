/* SPDX-License-Identifier: MIT
 * What the kernel says a thread is doing at this moment, by one small read. */
#ifndef DW_ATTACH_SAMPLING_ACTIVITY_H
#define DW_ATTACH_SAMPLING_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum dw_activity {
    DW_ACTIVITY_UNKNOWN, /* the system does not say */
    DW_ACTIVITY_RUNS,
    DW_ACTIVITY_WAITS,
    DW_ACTIVITY_WAITS_FOR_GIL,
    DW_ACTIVITY_WAITS_FOR_MEMORY, /* which it touched: often for microseconds */
};

static inline bool dw_activity_waits(enum dw_activity activity)
{
    return activity >= DW_ACTIVITY_WAITS;
}

#define DW_TURNS_BYTES 80

/* The open files of a thread under /proc. */
struct dw_activity_files {
    int syscall_fd, turns_fd;   /* -1: none */
    char turns[DW_TURNS_BYTES]; /* how often and how long it ran when it was looked at */
};

void dw_activity_open(pid_t pid, pid_t id, struct dw_activity_files *files);
void dw_activity_close(struct dw_activity_files *files);
/* `gil` is where the GIL of the thread's interpreter is. */
enum dw_activity dw_activity_read(const struct dw_activity_files *files, uint64_t gil);
/* The same, and the stack pointer and instruction of a thread that waits. */
enum dw_activity dw_activity_find(const struct dw_activity_files *files, uint64_t gil, uint64_t *sp,
                                  uint64_t *pc);
/* Whether the thread has run since this was asked last, for one that did not run then. */
bool dw_activity_has_run(struct dw_activity_files *files);
/* Whether the thread has not ended, as far as the system says. */
bool dw_activity_lives(const struct dw_activity_files *files);
/* The CPU time of the thread, late while it runs; 0 when the system does not say. */
uint64_t dw_activity_cpu_ns(const struct dw_activity_files *files);
/* The same, and for how long it was ready to run without a CPU: each time is told when it is over.
 */
uint64_t dw_activity_times(const struct dw_activity_files *files, uint64_t *queued_ns);
/* What the text of /proc/PID/task/TID/syscall means. */
enum dw_activity dw_activity_parse(const char *text, uint64_t gil);

#endif
