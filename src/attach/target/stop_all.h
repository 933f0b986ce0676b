/* SPDX-License-Identifier: MIT
 * Stopping all threads of another process, so that its memory stays as it is. */
#ifndef DW_ATTACH_TARGET_STOP_ALL_H
#define DW_ATTACH_TARGET_STOP_ALL_H

#include <stdint.h>
#include <sys/types.h>

struct dw_stopped_thread {
    pid_t id;
    int signal; /* that it would have got */
};

struct dw_stopped {
    struct dw_stopped_thread *threads; /* owned */
    uint32_t count, capacity;
};

/* 0, or DW_ERR_PERMISSION when none could be stopped: another program may trace it. */
int dw_process_stop(pid_t pid, struct dw_stopped *stopped);
void dw_process_let_go(struct dw_stopped *stopped);

#endif
