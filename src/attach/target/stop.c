/* SPDX-License-Identifier: MIT
 * PTRACE_SEIZE sends no signal, so the program notices nothing but the time. */
#include "attach/target/stop.h"

#include "attach/target/task.h"
#include "native/unwind/registers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENT_OF(status) ((status) >> 8)
#define EVENTS (WEXITED | WSTOPPED | WNOWAIT | __WALL)
#define ID_TRIES 100 /* while one thread hands its id to another, neither has it for a moment */
#define DETACH_TRIES 10000
#define PAUSE_US 100

/* Somebody else waits for its end. */
static bool is_own_child(pid_t id)
{
    struct dw_task task;
    return dw_task_read(id, id, &task) && task.group == id && task.parent == getpid();
}

/* Nobody else learns of the end of a thread that we trace, or of its process, before we have waited
 * for it. So we wait. */
static void see_end(pid_t id)
{
    if (!is_own_child(id))
        waitpid(id, NULL, __WALL | WNOHANG);
}

static bool is_stop(const siginfo_t *found)
{
    return found->si_code == CLD_TRAPPED || found->si_code == CLD_STOPPED;
}

/* The signal that it would get if it went on; ptrace's own stops do not count. */
static int signal_of(const siginfo_t *found)
{
    return EVENT_OF(found->si_status) ? 0 : found->si_status;
}

/* Sleeps until something happens to any thread that we trace: who waits for one alone is not woken
 * when that one becomes another program, and has another id. */
static bool wait_for_stop(pid_t id, int *signal)
{
    siginfo_t found, any;
    int failed;
    do {
        found.si_pid = 0;
        waitid(P_ALL, 0, &any, EVENTS);
        failed = waitid(P_PID, (id_t)id, &found, EVENTS | WNOHANG);
    } while (!failed && !found.si_pid);
    if (failed)
        return false;
    if (is_stop(&found))
        *signal = signal_of(&found);
    else
        see_end(id);
    return is_stop(&found);
}

/* Called when a thread could not be detached from. False when it is gone; else detaching may work
 * now, or a little later: the kernel refuses until we have seen that it became a new program, and
 * while it runs, until a kill that is on its way arrives. */
static bool may_detach_yet(pid_t id, int *signal)
{
    siginfo_t found = {0};
    if (waitid(P_PID, (id_t)id, &found, EVENTS | WNOHANG))
        return false;
    if (!found.si_pid) {
        ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
        usleep(PAUSE_US);
        return true;
    }
    if (!is_stop(&found)) {
        see_end(id);
        return false;
    }
    *signal = signal_of(&found);
    waitid(P_PID, (id_t)id, &found, WSTOPPED | WNOHANG | __WALL);
    return true;
}

static void detach(pid_t id, int signal)
{
    for (int i = 0; i < DETACH_TRIES; i++)
        if (!ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal) || errno != ESRCH ||
            !may_detach_yet(id, &signal))
            return;
}

/* A thread that becomes another program takes over the id of its process. Meanwhile PTRACE_SEIZE
 * waits, then attaches to that id, and PTRACE_INTERRUPT may be lost. */
static void let_go_of_new_program(pid_t pid)
{
    struct dw_task task;
    bool is_read = dw_task_read(pid, pid, &task);
    for (int i = 0; !is_read && i < ID_TRIES && !kill(pid, 0); i++) {
        usleep(PAUSE_US);
        is_read = dw_task_read(pid, pid, &task);
    }
    if (is_read && task.tracer == getpid())
        detach(pid, 0);
}

bool dw_thread_stop(pid_t pid, pid_t id, int *signal)
{
    if (ptrace(PTRACE_SEIZE, id, NULL, (void *)(intptr_t)PTRACE_O_TRACEEXEC))
        return false;
    bool is_interrupted = !ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
    if (is_interrupted && wait_for_stop(id, signal))
        return true;
    if (!is_interrupted)
        detach(id, 0);
    let_go_of_new_program(pid);
    return false;
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
