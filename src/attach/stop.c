/* SPDX-License-Identifier: MIT
 * PTRACE_SEIZE sends no signal, so the program does not notice, but for the time. */
#define _GNU_SOURCE
#include "attach/stop.h"

#include "attach/task.h"
#include "native/registers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENT_OF(status) ((status) >> 8)

/* Its end is waited for elsewhere. */
static bool is_own_child(pid_t id)
{
    struct dw_task task;
    return dw_task_read(id, id, &task) && task.group == id && task.parent == getpid();
}

/* The end of a thread that we trace, even of a whole process, is told to nobody else before we
 * have seen it. */
static void see_end(pid_t id)
{
    while (!is_own_child(id) && waitpid(id, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

static bool wait_for_stop(pid_t id, int *signal)
{
    siginfo_t found = {0};
    int failed;
    do
        failed = waitid(P_PID, (id_t)id, &found, WEXITED | WSTOPPED | WNOWAIT | __WALL);
    while (failed && errno == EINTR);
    if (failed)
        return false;
    bool is_stopped = found.si_code == CLD_TRAPPED || found.si_code == CLD_STOPPED;
    if (is_stopped)
        *signal = EVENT_OF(found.si_status) ? 0 : found.si_status;
    else
        see_end(id);
    return is_stopped;
}

static void detach(pid_t id, int signal)
{
    if (ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal) && errno == ESRCH)
        see_end(id); /* it was killed */
}

bool dw_thread_stop(pid_t id, int *signal)
{
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL))
        return false;
    if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL)) {
        detach(id, 0);
        return false;
    }
    return wait_for_stop(id, signal);
}

bool dw_thread_registers(pid_t id, struct dw_registers *registers)
{
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, id, NULL, &user))
        return false;
    dw_registers_of_user(&user, registers);
    return true;
}

void dw_thread_let_go(pid_t id, int signal)
{
    detach(id, signal);
}
