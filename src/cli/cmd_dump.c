/* SPDX-License-Identifier: MIT
 * `dwell dump`: the Python stacks of a running process, once, from outside. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/dump_text.h"
#include "cli/process_text.h"

#include <stdio.h>
#include <time.h>

#define MAX_DEPTH 20000
#define TRIES 10
#define PAUSE_NS 20000000 /* between tries: a Python takes about this long to start */

static const char help[] =
    "usage: dwell dump PID [--locals] [--native] [--json]\n"
    "\n"
    "Prints what every Python thread of a running process is doing: its name and state, who\n"
    "holds the GIL, and its frames, the innermost first. The process is neither stopped nor\n"
    "changed, and needs nothing installed. CPython 3.11 to 3.15.\n"
    "\n"
    "  --locals   the variables of each frame; values other than numbers, text and None show\n"
    "             only their type and size, because nothing of the program's code is run\n"
    "  --native   native frames between the Python ones; threads that run are stopped for that,\n"
    "             for some hundred-thousandths of a second\n"
    "  --json     the same for programs\n"
    "\n"
    "examples:\n"
    "  dwell dump 4711\n"
    "  dwell dump $(pgrep -f train.py) --locals\n"
    "  dwell dump 4711 --json | jq '.threads[] | select(.holds_gil) | .frames[0]'\n"
    "\n"
    "The memory of other users' processes can be read only by root. The exit status is 1 when\n"
    "the process cannot be read.\n";

struct use {
    struct dw_target target;
    struct dw_python python;
    struct dw_dump dump;
    struct dw_dump_options options;
    bool json;
};

static void release(struct use *use)
{
    dw_dump_release(&use->dump);
    dw_target_release(&use->target);
}

static int read_once(struct use *use, pid_t pid)
{
    int error = dw_target_open(pid, &use->target);
    if (!error)
        error = dw_python_locate(&use->target, &use->python);
    if (!error)
        error = dw_dump_read(&use->python, &use->options, &use->dump);
    if (error != DW_ERR_NO_PROCESS && error != DW_ERR_PERMISSION &&
        !dw_target_is_alive(&use->target))
        error = DW_ERR_ENDED;
    return error;
}

/* A process that starts, or becomes another program, cannot be read for a moment. */
static bool may_settle(int error)
{
    return error == DW_ERR_NO_RUNTIME || error == DW_ERR_UNREADABLE || error == DW_ERR_DAMAGED;
}

static int read_process(struct use *use, pid_t pid)
{
    int error = read_once(use, pid);
    for (int i = 1; i < TRIES && may_settle(error); i++) {
        release(use);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        error = read_once(use, pid);
    }
    return error;
}

static int write_dump(const void *context, struct dw_out *out)
{
    const struct use *use = context;
    struct dw_dump_words words = {&use->python, &use->dump, MAX_DEPTH};
    if (use->json)
        dw_dump_put_json(&words, out);
    else
        dw_dump_put_text(&words, out);
    return 0;
}

int dw_cmd_dump(int argc, char **argv)
{
    struct use use = {.options.max_depth = MAX_DEPTH};
    pid_t pid = 0;
    const struct dw_option options[] = {
        {.name = "locals", .letter = 'l', .flag = &use.options.locals},
        {.name = "native", .letter = 'n', .flag = &use.options.native},
        {.name = "json", .letter = 'j', .flag = &use.json},
        {.name = NULL},
    };
    if (dw_cli_help(argc, argv, help))
        return 0;
    if (dw_cli_parse_process(options, argc, argv, &pid))
        return DW_EXIT_USAGE;
    if (use.options.native)
        fputs("dwell: with --native, threads that run are stopped for a moment\n", stderr);
    int error = read_process(&use, pid);
    int status = error ? dw_cli_process_trouble(pid, &use.python, error)
                       : dw_cli_write_with(write_dump, &use, argv[1], NULL);
    release(&use);
    return status;
}
