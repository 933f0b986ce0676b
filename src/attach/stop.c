/* SPDX-License-Identifier: MIT
 * PTRACE_SEIZE sends no signal, so the program does not notice, but for the time. */
#define _GNU_SOURCE
#include "attach/stop.h"

#include "native/registers.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define EVENT_OF(status) ((status) >> 16)

static bool wait_for_stop(pid_t id, int *signal)
{
    int status;
    pid_t found;
    do
        found = waitpid(id, &status, __WALL);
    while (found < 0 && errno == EINTR);
    if (found != id || !WIFSTOPPED(status))
        return false;
    *signal = EVENT_OF(status) ? 0 : WSTOPSIG(status);
    return true;
}

bool dw_thread_stop(pid_t id, int *signal)
{
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL))
        return false;
    if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL)) {
        ptrace(PTRACE_DETACH, id, NULL, NULL);
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
    ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal);
}
