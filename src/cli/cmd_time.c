/* SPDX-License-Identifier: MIT
 * `dwell time`: Python code is timed by Python, so the interpreter does it all. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/run/child.h"
#include "cli/run/python.h"

#include <limits.h>
#include <stdlib.h>

#define EXIT_TROUBLE 2 /* 1 is the verdict of --fail-if */

/* -P: the directory that we are called in must not hide modules from the command itself. */
int dw_cmd_time(int argc, char **argv)
{
    static char *const before[] = {"-P", "-m", "dwell._time_command"};
    const size_t count = sizeof before / sizeof *before;
    char found[PATH_MAX];
    const char *python = dw_python_find(found, sizeof found);
    char **arguments = calloc(count + (size_t)argc, sizeof *arguments);
    if (!arguments) {
        dw_cli_error(python, DW_ERR_MEMORY);
        return EXIT_TROUBLE;
    }
    memcpy(arguments, before, sizeof before);
    memcpy(arguments + count, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    struct dw_child_times times;
    int status = dw_child_run(python, arguments, 0, &times);
    free(arguments);
    if (status >= 0)
        return dw_child_exit(status);
    dw_cli_error(python, DW_ERR_IO);
    return EXIT_TROUBLE;
}
