/* SPDX-License-Identifier: MIT
 * A thread that runs may start others until it is stopped, so the list is read until nothing in it
 * is new. */
#include "attach/target/stop_all.h"

#include "attach/target/stop.h"
#include "attach/target/task.h"
#include "base/error.h"
#include "base/grow.h"

#define ROUNDS 64

static bool is_stopped(const struct dw_stopped *stopped, pid_t id)
{
    for (uint32_t i = 0; i < stopped->count; i++)
        if (stopped->threads[i].id == id)
            return true;
    return false;
}

static int stop_new(pid_t pid, const struct dw_tasks *tasks, struct dw_stopped *stopped,
                    bool *is_any)
{
    int error = 0;
    *is_any = false;
    for (uint32_t i = 0; i < tasks->count && !error; i++) {
        pid_t id = tasks->tasks[i].id;
        int signal = 0;
        if (is_stopped(stopped, id))
            continue;
        error = DW_GROW(stopped->threads, stopped->count, stopped->capacity);
        if (error || !dw_thread_stop(pid, id, &signal))
            continue;
        stopped->threads[stopped->count++] = (struct dw_stopped_thread){id, signal};
        *is_any = true;
    }
    return error;
}

int dw_process_stop(pid_t pid, struct dw_stopped *stopped)
{
    struct dw_tasks tasks = {0};
    bool is_any = true;
    int error = 0;
    *stopped = (struct dw_stopped){0};
    for (int i = 0; i < ROUNDS && is_any && !error; i++) {
        error = dw_tasks_read(pid, &tasks);
        if (!error)
            error = stop_new(pid, &tasks, stopped, &is_any);
    }
    dw_tasks_release(&tasks);
    if (!error && !stopped->count)
        error = DW_ERR_PERMISSION;
    if (error)
        dw_process_let_go(stopped);
    return error;
}

void dw_process_let_go(struct dw_stopped *stopped)
{
    for (uint32_t i = 0; i < stopped->count; i++)
        dw_thread_let_go(stopped->threads[i].id, stopped->threads[i].signal);
    free(stopped->threads);
    *stopped = (struct dw_stopped){0};
}
