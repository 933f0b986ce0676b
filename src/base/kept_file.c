/* SPDX-License-Identifier: MIT
 * What is not ours any more is left alone. */
#include "base/kept_file.h"

#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

void dw_kept_open(struct dw_kept_file *kept, const char *path)
{
    struct stat file;
    kept->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (kept->fd >= 0)
        dw_fd_move(&kept->fd);
    if (kept->fd < 0 || fstat(kept->fd, &file))
        return;
    kept->device = file.st_dev;
    kept->inode = file.st_ino;
}

bool dw_kept_look(const struct dw_kept_file *kept, struct stat *file)
{
    return kept->fd >= 0 && !fstat(kept->fd, file) && file->st_dev == kept->device &&
           file->st_ino == kept->inode;
}

bool dw_kept_read(const struct dw_kept_file *kept, char *text, size_t size)
{
    struct stat file;
    ssize_t got = dw_kept_look(kept, &file) ? pread(kept->fd, text, size - 1, 0) : (ssize_t)-1;
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

void dw_kept_close(struct dw_kept_file *kept)
{
    struct stat file;
    if (dw_kept_look(kept, &file))
        close(kept->fd);
    kept->fd = -1;
}
