/* SPDX-License-Identifier: MIT
 * The memory of the child is read from outside, fifty times a second, so that a program is stopped
 * wherever it is, also in C code. */
#include "cli/run/memory_guard.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000000
#define GRACE_NS UINT64_C(3000000000) /* for what the program does about SIGTERM */

static uint64_t resident_bytes(pid_t process)
{
    char path[32];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* It stays to be waited for. */
static bool has_ended(pid_t process)
{
    siginfo_t info = {0};
    int failed = waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT | WNOHANG);
    return failed ? errno != EINTR : info.si_pid == process;
}

static void pass_time(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

static void stop(pid_t process)
{
    uint64_t until_ns = dw_clock_ns(CLOCK_MONOTONIC) + GRACE_NS;
    kill(process, SIGTERM);
    while (!has_ended(process) && dw_clock_ns(CLOCK_MONOTONIC) < until_ns)
        pass_time();
    if (!has_ended(process))
        kill(process, SIGKILL);
}

void dw_memory_guard(pid_t process, uint64_t most_bytes)
{
    while (!has_ended(process)) {
        uint64_t bytes = resident_bytes(process);
        if (bytes > most_bytes) {
            fprintf(stderr,
                    "dwell: the program has %.1f MiB, more than --stop-above allows (%.1f MiB): "
                    "it is stopped\n",
                    (double)bytes / (1 << 20), (double)most_bytes / (1 << 20));
            stop(process);
            return;
        }
        pass_time();
    }
}
