/* SPDX-License-Identifier: MIT
 * The file is read into private memory rather than mapped: a mapped file that
 * somebody truncates while we read it would kill us with SIGBUS. */
#define _GNU_SOURCE
#include "base/file.h"

#include "base/buffer.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_STEP 65536
#define STREAM_MAX (UINT64_C(1) << 32) /* a device that never ends must not take all memory */

static int read_all(int fd, size_t size, struct dw_file *file)
{
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        return DW_ERR_MEMORY;
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(data);
            return DW_ERR_IO;
        }
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *file = (struct dw_file){data, done};
    return 0;
}

static int read_stream(int fd, struct dw_file *file)
{
    struct dw_buffer buffer = {0};
    int error = 0;
    for (ssize_t got = 1; got && !error;) {
        uint8_t *room = dw_buffer_reserve(&buffer, STREAM_STEP);
        got = room ? read(fd, room, STREAM_STEP) : -1;
        buffer.size += got > 0 ? (size_t)got : 0;
        error = !room                       ? DW_ERR_MEMORY
                : got < 0 && errno != EINTR ? DW_ERR_IO
                : buffer.size > STREAM_MAX  ? DW_ERR_TOO_LARGE
                                            : 0;
    }
    if (error)
        dw_buffer_release(&buffer);
    else
        *file = (struct dw_file){buffer.data, buffer.size};
    return error;
}

static int read_descriptor(int fd, bool may_stream, struct dw_file *file)
{
    struct stat status;
    if (fstat(fd, &status))
        return DW_ERR_IO;
    if (S_ISREG(status.st_mode))
        return read_all(fd, (size_t)status.st_size, file);
    if (may_stream && !S_ISDIR(status.st_mode))
        return fcntl(fd, F_SETFL, 0) ? DW_ERR_IO : read_stream(fd, file);
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return DW_ERR_IO;
}

static int open_and_read(const char *path, bool may_stream, struct dw_file *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return DW_ERR_IO;
    int error = read_descriptor(fd, may_stream, file);
    int saved = errno;
    close(fd);
    errno = saved;
    return error;
}

int dw_file_open(const char *path, struct dw_file *file)
{
    return open_and_read(path, false, file);
}

int dw_file_open_any(const char *path, struct dw_file *file)
{
    return open_and_read(strcmp(path, "-") ? path : "/dev/stdin", true, file);
}

void dw_file_close(struct dw_file *file)
{
    free((void *)file->data);
    *file = (struct dw_file){0};
}
