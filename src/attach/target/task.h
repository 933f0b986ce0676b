/* SPDX-License-Identifier: MIT
 * What the kernel says of a thread. */
#ifndef DW_ATTACH_TARGET_TASK_H
#define DW_ATTACH_TARGET_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DW_TASK_NAME_BYTES 64

struct dw_task {
    pid_t id;            /* here */
    pid_t group, parent; /* its process, and the process that started that one */
    pid_t tracer;        /* 0: none */
    uint64_t inner_id;   /* in the process's own PID namespace */
    char state;          /* R, S, D, T and so on, as /proc has it */
    uint64_t switches;   /* how often it left a CPU */
    char name[DW_TASK_NAME_BYTES];
};

/* Fields of /proc/PID/stat, or of the same file of a thread. */
struct dw_task_stat {
    char state;
    long threads;         /* of its process */
    uint64_t start_ticks; /* tells a later one with the same id apart */
};

struct dw_tasks {
    struct dw_task *tasks; /* owned */
    uint32_t count, capacity;
};

/* The ids here of a process's threads, and nothing else of them. */
int dw_tasks_list(pid_t pid, struct dw_tasks *tasks);
/* The threads of a process; fewer, or none, when it ends meanwhile. */
int dw_tasks_read(pid_t pid, struct dw_tasks *tasks);
void dw_tasks_release(struct dw_tasks *tasks);
/* NULL when there is none. */
const struct dw_task *dw_tasks_find(const struct dw_tasks *tasks, uint64_t inner_id);
/* False when the thread has ended. */
bool dw_task_read(pid_t pid, pid_t id, struct dw_task *task);
bool dw_task_stat_parse(const char *line, struct dw_task_stat *stat);
/* 0 when the thread has ended. */
uint64_t dw_task_start_ticks(pid_t pid, pid_t id);
/* Whether the thread did not run between two looks at it. */
bool dw_task_slept(const struct dw_task *before, const struct dw_task *after);

#endif
