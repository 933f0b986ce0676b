/* SPDX-License-Identifier: MIT
 * The file is read into private memory rather than mapped: a mapped file that
 * somebody truncates while we read it would kill us with SIGBUS. */
#define _GNU_SOURCE
#include "base/file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

int dw_file_open(const char *path, struct dw_file *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return DW_ERR_IO;
    struct stat status;
    int error = fstat(fd, &status) ? DW_ERR_IO : 0;
    if (!error && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        error = DW_ERR_IO;
    }
    if (!error)
        error = read_all(fd, (size_t)status.st_size, file);
    int saved = errno;
    close(fd);
    errno = saved;
    return error;
}

void dw_file_close(struct dw_file *file)
{
    free((void *)file->data);
    *file = (struct dw_file){0};
}
