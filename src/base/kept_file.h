/* SPDX-License-Identifier: MIT
 * A file or folder of /proc that stays open. Programs close descriptors that they do not know, and
 * get the same number for another file: so it is far from those that programs use, and what it was
 * opened as is compared. */
#ifndef DW_BASE_KEPT_FILE_H
#define DW_BASE_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct dw_kept_file {
    int fd; /* -1: not open */
    dev_t device;
    ino_t inode;
};

#define DW_KEPT_NONE                                                                               \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* When it cannot be opened, it stays as one that is not. */
void dw_kept_open(struct dw_kept_file *kept, const char *path);
/* False when it is not ours any more. */
bool dw_kept_look(const struct dw_kept_file *kept, struct stat *file);
/* Its text from the start, which ends with a zero; false when there is none. */
bool dw_kept_read(const struct dw_kept_file *kept, char *text, size_t size);
void dw_kept_close(struct dw_kept_file *kept);

#endif
