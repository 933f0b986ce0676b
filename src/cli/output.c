/* SPDX-License-Identifier: MIT
 * A result takes its name only when it is whole: until then it is a temporary
 * file beside it, which goes away on trouble. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/memory_limit.h"
#include "lens/view/notes.h"
#include "log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Like recordings, their exports are private to the user. */
static mode_t mode_of_new(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0600 & ~mask;
}

static int open_temporary(struct dw_output *output, mode_t mode)
{
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return DW_ERR_MEMORY;
    }
    output->fd = mkostemp(output->temporary, O_CLOEXEC);
    if (output->fd < 0)
        return DW_ERR_IO;
    (void)fchmod(output->fd, mode);
    return 0;
}

/* Devices and pipes are written in place; a link to a file stays a link. */
static int open_path(struct dw_output *output)
{
    struct stat status;
    if (stat(output->path, &status))
        return open_temporary(output, mode_of_new());
    if (S_ISREG(status.st_mode)) {
        char *real = realpath(output->path, NULL);
        if (!real)
            return DW_ERR_IO;
        free(output->path);
        output->path = real;
        return open_temporary(output, status.st_mode & 0777);
    }
    output->fd =
        open(output->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe may have no reader */
    return output->fd < 0 || fcntl(output->fd, F_SETFL, 0) ? DW_ERR_IO : 0;
}

static void release(struct dw_output *output)
{
    int saved = errno;
    free(output->path);
    free(output->temporary);
    errno = saved;
}

int dw_output_open(struct dw_output *output, const char *path)
{
    *output = (struct dw_output){.fd = STDOUT_FILENO};
    if (!path || !strcmp(path, "-"))
        return 0;
    output->path = strdup(path);
    int error = output->path ? open_path(output) : DW_ERR_MEMORY;
    if (error)
        release(output);
    return error;
}

int dw_output_close(struct dw_output *output, int error)
{
    int saved = errno;
    if (output->path && close(output->fd) && !error)
        error = DW_ERR_IO, saved = errno;
    if (output->temporary && !error && rename(output->temporary, output->path)) {
        error = access(output->temporary, F_OK) ? DW_ERR_REMOVED : DW_ERR_IO;
        saved = errno;
    }
    if (output->temporary && error)
        unlink(output->temporary);
    errno = saved;
    release(output);
    return error;
}

/* Reports an output that failed; a reader that closed the pipe had enough, and gets no message. */
static int output_trouble(const char *path, int error)
{
    if (error == DW_ERR_IO && errno == EPIPE && !path)
        return 0;
    return dw_cli_error(path ? path : "standard output", error);
}

size_t dw_cli_width(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

size_t dw_cli_height(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat s, t;
    return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool dw_cli_would_overwrite(char **files, int count, const char *path)
{
    for (int i = 0; path && i < count; i++)
        if (is_same_file(files[i], path))
            return dw_cli_usage("%s: would overwrite the recording; choose another name", path);
    return false;
}

int dw_cli_write_with(dw_cli_writer *write, const void *context, const char *input,
                      const char *path)
{
    struct dw_output output;
    struct dw_out out;
    if (path && !strcmp(path, "-"))
        path = NULL;
    int error = dw_output_open(&output, path);
    if (error)
        return output_trouble(path, error);
    dw_out_init_fd(&out, output.fd);
    dw_out_limit(&out, dw_output_allowed());
    int write_error = write(context, &out);
    int out_error = dw_out_close(&out);
    error = dw_output_close(&output, out_error ? out_error : write_error);
    if (!error)
        return 0;
    bool is_of_input = error == DW_ERR_OUTPUT || (!out_error && error == write_error);
    return is_of_input ? dw_cli_error(input, error) : output_trouble(path, error);
}

struct lens_use {
    const struct dw_profile *profile;
    const struct dw_lens *lens;
    const struct dw_lens_options *options;
};

static int write_lens(const void *context, struct dw_out *out)
{
    const struct lens_use *use = context;
    return use->lens->write(use->profile, use->options, out);
}

/* Nothing when there are no samples. */
static void say_sampling(const struct dw_profile *profile)
{
    struct dw_out out;
    dw_out_init_fd(&out, STDERR_FILENO);
    dw_notes_put_sampling(&out, profile, "dwell: ");
    dw_out_close(&out);
}

int dw_cli_write(const struct dw_profile *profile, const struct dw_lens *lens,
                 const struct dw_lens_options *options, const char *input, const char *path)
{
    int status =
        dw_cli_write_with(write_lens, &(struct lens_use){profile, lens, options}, input, path);
    if (!status && lens->lacks_notes && dw_shows_samples(profile, options->family))
        say_sampling(profile);
    return status;
}

int dw_cli_redact(const char *words)
{
    unsigned redactions = 0;
    if (words && !dw_redactions_parse(words, &redactions))
        return dw_cli_usage("--redact is argv, sources or argv,sources, not '%s'", words);
    dw_redact(redactions);
    return 0;
}

int dw_cli_check_recording(const char *path)
{
    const struct dw_lens *lens = dw_lens_of_file(path);
    if (lens)
        return dw_cli_usage("%s: this makes a recording, so call it NAME.dwell; then "
                            "'dwell export NAME.dwell -o %s' makes the %s file",
                            path, path, lens->name);
    if (!dw_log_may_replace(path))
        return dw_cli_usage("%s: there is a file of that name, and it is not a recording; give "
                            "another name, or remove it",
                            path);
    return 0;
}
