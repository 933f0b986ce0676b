/* SPDX-License-Identifier: MIT
 * A picture of the call graph: the dot lens writes into Graphviz's `dot`, which writes into
 * memory; there is no shell between them. `dot` gives pictures a size in points; ours has the width
 * of the window, and that size where it is clicked on. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int trouble(const char *sentence)
{
    dw_cli_usage("%s", sentence);
    return DW_EXIT_TROUBLE;
}

/* 0 or an exit status, after saying what went wrong. */
static int paint(const struct dw_profile *profile, const struct dw_lens_options *options,
                 const char *input, int fd)
{
    static char *const arguments[] = {"-Tsvg", NULL};
    int pipe_ends[2];
    struct dw_out out;
    if (pipe2(pipe_ends, O_CLOEXEC))
        return dw_cli_error("dot", DW_ERR_IO);
    pid_t dot = dw_child_start("dot", arguments, (const int[]){pipe_ends[0], fd, -1});
    int reason = errno;
    close(pipe_ends[0]);
    if (dot < 0) {
        close(pipe_ends[1]);
        errno = reason;
        return errno == ENOENT ? trouble("drawing the graph needs Graphviz's 'dot'; install the "
                                         "package graphviz, or use --to dot")
                               : dw_cli_error("dot", DW_ERR_IO);
    }
    signal(SIGPIPE, SIG_IGN);
    dw_out_init_fd(&out, pipe_ends[1]);
    int error = dw_lens_find("dot")->write(profile, options, &out);
    (void)dw_out_close(&out); /* a `dot` that stopped reading says so by its status */
    close(pipe_ends[1]);
    int status = dw_child_wait(dot);
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
