/* SPDX-License-Identifier: MIT
 * A picture of the call graph: the dot lens writes into Graphviz's `dot`, which
 * writes into our output. There is no shell between them. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/error.h"
#include "cli/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct painter {
    pid_t child;
    int input; /* what we write goes there */
};

/* Only when `dot` cannot be started is anything written to the pipe. */
static void run_dot(int input, int output, int report)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dw_memory_unlimit();
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execlp("dot", "dot", "-Tsvg", (char *)NULL);
    int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* 0, or -1 with errno after the child is gone. */
static int await_start(struct painter *painter, int report)
{
    int error = 0;
    bool failed = read(report, &error, sizeof error) == sizeof error;
    close(report);
    if (!failed)
        return 0;
    close(painter->input);
    wait_for(painter->child);
    errno = error;
    return -1;
}

/* 0, or -1 with errno. */
static int start_dot(struct painter *painter, int output)
{
    int input[2], report[2];
    if (pipe2(input, O_CLOEXEC))
        return -1;
    if (pipe2(report, O_CLOEXEC)) {
        close(input[0]);
        close(input[1]);
        return -1;
    }
    painter->child = fork();
    if (painter->child == 0)
        run_dot(input[0], output, report[1]);
    close(input[0]);
    close(report[1]);
    painter->input = input[1];
    if (painter->child > 0)
        return await_start(painter, report[0]);
    close(report[0]);
    close(input[1]);
    return -1;
}

static int trouble(const char *sentence)
{
    dw_cli_usage("%s", sentence);
    return DW_EXIT_TROUBLE;
}

/* 0 or an exit status, after saying what went wrong. */
static int paint(const struct dw_profile *profile, const char *input, int fd)
{
    struct painter painter;
    struct dw_out out;
    if (start_dot(&painter, fd))
        return errno == ENOENT ? trouble("drawing the graph needs Graphviz's 'dot'; install the "
                                         "package graphviz, or use --to dot")
                               : dw_cli_error("dot", DW_ERR_IO);
    signal(SIGPIPE, SIG_IGN);
    dw_out_init_fd(&out, painter.input);
    int error = dw_lens_find("dot")->write(profile, &(struct dw_lens_options){0}, &out);
    (void)dw_out_close(&out); /* a `dot` that stopped reading says so by its status */
    close(painter.input);
    int status = wait_for(painter.child);
    if (error)
        return dw_cli_error(input, error);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
        return 0; /* whoever closed the pipe had enough */
    return status ? trouble("Graphviz's 'dot' could not draw the graph") : 0;
}

int dw_cli_draw(const struct dw_profile *profile, const char *input, const char *path)
{
    struct dw_output output;
    bool to_stdout = !path || !strcmp(path, "-");
    int error = dw_output_open(&output, path);
    if (error)
        return dw_cli_error(path, error);
    int status = paint(profile, input, output.fd);
    error = dw_output_close(&output, status ? DW_ERR_IO : 0);
    if (!status && error)
        return dw_cli_error(to_stdout ? "standard output" : path, error);
    return status;
}
