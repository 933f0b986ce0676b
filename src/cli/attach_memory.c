/* SPDX-License-Identifier: MIT
 * What allocates is seen in the process only. From 3.14 on Python lets others run code in a
 * process; what does so is Python too. */
#define _GNU_SOURCE
#include "cli/attach_memory.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/process_text.h"
#include "cli/run/child.h"
#include "cli/run/python.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTERED_MINOR 14 /* of the first Python 3 that lets others in */

/* 0, or the exit status after saying why not. */
static int check_version(pid_t pid)
{
    struct dw_target target = {0};
    struct dw_python python = {0};
    int error = dw_target_open(pid, &target);
    if (!error)
        error = dw_python_locate(&target, &python);
    unsigned minor = dw_python_minor(&python);
    int status = error ? dw_cli_process_trouble(pid, &python, error) : 0;
    dw_target_release(&target);
    if (error || minor >= ENTERED_MINOR)
        return status;
    dw_cli_usage(
        "process %d runs Python 3.%u, which lets nobody in: from 3.%d on it does. Start it "
        "with 'dwell run --memory', or call dwell.memory.track() in it",
        (int)pid, minor, ENTERED_MINOR);
    return DW_EXIT_TROUBLE;
}

int dw_attach_memory(pid_t pid, const char *path, const char *mode, double seconds)
{
    char found[PATH_MAX], process[16], time[32];
    int status = check_version(pid);
    if (status)
        return status;
    snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(time, sizeof time, "%.9g", seconds);
    char *const arguments[] = {
        "-P", "-m", "dwell.memory._attach", process, (char *)path, (char *)mode, time, NULL};
    struct dw_child_times times;
    const char *python = dw_python_find(found, sizeof found);
    status = dw_child_run(python, arguments, 0, &times);
    return status < 0 ? dw_cli_error(python, DW_ERR_IO) : dw_child_exit(status);
}
