/* SPDX-License-Identifier: MIT
 * A picture of the call graph: the dot lens writes into Graphviz's `dot`, which writes into
 * memory; there is no shell between them. `dot` gives pictures a size in points; ours has the width
 * of the window, and that size where it is clicked on. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
static int paint(const struct dw_profile *profile, const struct dw_lens_options *options,
                 const char *input, int fd)
{
    struct painter painter;
    struct dw_out out;
    if (start_dot(&painter, fd))
        return errno == ENOENT ? trouble("drawing the graph needs Graphviz's 'dot'; install the "
                                         "package graphviz, or use --to dot")
                               : dw_cli_error("dot", DW_ERR_IO);
    signal(SIGPIPE, SIG_IGN);
    dw_out_init_fd(&out, painter.input);
    int error = dw_lens_find("dot")->write(profile, options, &out);
    (void)dw_out_close(&out); /* a `dot` that stopped reading says so by its status */
    close(painter.input);
    int status = wait_for(painter.child);
    if (error)
        return dw_cli_error(input, error);
    return status ? trouble("Graphviz's 'dot' could not draw the graph") : 0;
}

struct picture {
    char *text; /* mapped */
    size_t size;
};

static const char *find(const struct picture *picture, const char *from, const char *what)
{
    size_t rest = picture->size - (size_t)(from - picture->text);
    return memmem(from, rest, what, strlen(what));
}

/* Between the width of the window and the size that texts are written for. */
static const char zoom[] =
    "const at = this.getBoundingClientRect(), x = (event.clientX - at.x) / at.width, "
    "y = (event.clientY - at.y) / at.height; "
    "this.style.width = this.style.width ? '' : this.style.maxWidth; "
    "const now = this.getBoundingClientRect(); "
    "scrollTo(x * now.width - innerWidth / 2, y * now.height - innerHeight / 2)";

/* Replaces <svg width="1234pt" height="567pt". */
static int put_picture(const void *context, struct dw_out *out)
{
    const struct picture *picture = context;
    const char *at = picture->text, *svg = find(picture, at, "<svg width=\"");
    const char *size = svg ? svg + strlen("<svg width=\"") : NULL;
    const char *unit = size ? find(picture, size, "pt\" height=\"") : NULL;
    const char *end = unit ? find(picture, unit + strlen("pt\" height=\""), "\"") : NULL;
    if (end) {
        dw_out_write(out, at, (size_t)(svg - at));
        dw_out_printf(out,
                      "<svg width=\"100%%\" style=\"height: auto; max-width: %.*spt\" "
                      "onclick=\"%s\"",
                      (int)(unit - size), size, zoom);
        at = end + 1;
    }
    dw_out_write(out, at, picture->size - (size_t)(at - picture->text));
    return 0;
}

static int show_picture(int fd, const char *input, const char *path)
{
    struct stat status;
    if (fstat(fd, &status))
        return dw_cli_error("dot", DW_ERR_IO);
    struct picture picture = {.size = (size_t)status.st_size};
    picture.text = mmap(NULL, picture.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (picture.text == MAP_FAILED)
        return dw_cli_error("dot", DW_ERR_IO);
    int result = dw_cli_write_with(put_picture, &picture, input, path);
    munmap(picture.text, picture.size);
    return result;
}

int dw_cli_draw(const struct dw_profile *profile, const struct dw_lens_options *options,
                const char *input, const char *path)
{
    int fd = memfd_create("picture", MFD_CLOEXEC);
    if (fd < 0)
        return dw_cli_error("dot", DW_ERR_IO);
    int status = paint(profile, options, input, fd);
    if (!status)
        status = show_picture(fd, input, path);
    close(fd);
    return status;
}
