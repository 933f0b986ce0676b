/* SPDX-License-Identifier: MIT
 * The file is read into private memory rather than mapped: a mapped file that
 * somebody truncates while we read it would kill us with SIGBUS. */
#include "base/file.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_STEP 65536
#define FIRST_FD 512 /* for our files: the program's numbers are as they were without us */
#define STREAM_MAX (UINT64_C(1) << 32) /* a device that never ends must not take all memory */

static int read_all(int fd, size_t size, struct dw_file *file)
{
    bool is_large = size >= DW_PAGES_MIN;
    uint8_t *data = is_large ? dw_pages_resize(NULL, 0, size) : malloc(size ? size : 1);
    if (!data)
        return DW_ERR_MEMORY;
    struct dw_file whole = {.data = data, .pages = is_large ? size : 0};
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            dw_file_close(&whole);
            return DW_ERR_IO;
        }
        if (got == 0)
            break;
        done += (size_t)got;
    }
    whole.size = done;
    *file = whole;
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
        *file = (struct dw_file){.data = buffer.data, .size = buffer.size};
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

/* Opening a device can have effects, so the kind of file is asked first; the name may come to mean
 * another file meanwhile, so it is asked again of the open file. */
int dw_file_open_regular(const char *path, struct stat *status)
{
    if (stat(path, status))
        return -1;
    errno = S_ISDIR(status->st_mode) ? EISDIR : EINVAL;
    int fd =
        S_ISREG(status->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd >= 0 && (fstat(fd, status) || !S_ISREG(status->st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

static int open_and_read(const char *path, bool may_stream, struct dw_file *file)
{
    struct stat status;
    int fd = may_stream ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                        : dw_file_open_regular(path, &status);
    if (fd < 0)
        return DW_ERR_IO;
    int error = read_descriptor(fd, may_stream, file);
    int saved = errno;
    close(fd);
    errno = saved;
    return error;
}

int dw_file_read_head(int fd, size_t most, struct dw_file *file)
{
    struct stat status;
    if (fstat(fd, &status))
        return DW_ERR_IO;
    errno = EINVAL;
    if (!S_ISREG(status.st_mode))
        return DW_ERR_IO;
    return read_all(fd, (uint64_t)status.st_size < most ? (size_t)status.st_size : most, file);
}

int dw_file_open_head(const char *path, size_t most, struct dw_file *file)
{
    struct stat status;
    if (stat(path, &status))
        return DW_ERR_IO;
    errno = EINVAL;
    int fd = S_ISREG(status.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return DW_ERR_IO;
    int error = dw_file_read_head(fd, most, file);
    close(fd);
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
    if (file->pages)
        dw_pages_resize((void *)(uintptr_t)file->data, file->pages, 0);
    else
        free((void *)(uintptr_t)file->data);
    *file = (struct dw_file){0};
}

bool dw_fd_move(int *fd)
{
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) ? 2 * FIRST_FD : limit.rlim_cur;
    rlim_t first = most / 2 < FIRST_FD ? most / 2 : FIRST_FD;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, (int)first);
    if (moved < 0)
        return false;
    bool is_too_far = (rlim_t)moved > first + most / 4; /* the rest is the program's */
    close(is_too_far ? moved : *fd);
    *fd = is_too_far ? *fd : moved;
    return !is_too_far;
}
