/* SPDX-License-Identifier: MIT
 * Whole files, read at once; and the numbers of open ones. */
#ifndef DW_BASE_FILE_H
#define DW_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a file, read into memory. */
struct dw_file {
    const uint8_t *data;
    size_t size;
    size_t pages; /* the size of what it is in, if that is of base/pages.h */
};

struct stat;

/* Both open regular files only, since the names of some files come from recordings. The first gives
 * a descriptor, or -1 with errno. */
int dw_file_open_regular(const char *path, struct stat *status);
int dw_file_open(const char *path, struct dw_file *file);
/* What a person has named: pipes too, and "-" is standard input. */
int dw_file_open_any(const char *path, struct dw_file *file);
/* The first `most` bytes of a regular file, which may be far larger. One takes an open file, the
 * other a name; what is not a regular file is not even opened. */
int dw_file_read_head(int fd, size_t most, struct dw_file *file);
int dw_file_open_head(const char *path, size_t most, struct dw_file *file);
void dw_file_close(struct dw_file *file);

/* Gives an open file a number out of the way of the program, which counts on small ones. False,
 * and it keeps its number, when that would leave too few to the program. */
bool dw_fd_move(int *fd);

#endif
