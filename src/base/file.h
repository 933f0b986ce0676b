/* SPDX-License-Identifier: MIT
 * Whole files, read at once. */
#ifndef DW_BASE_FILE_H
#define DW_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a file, read into memory. */
struct dw_file {
    const uint8_t *data;
    size_t size;
};

/* A regular file and nothing else: the names of some files come from recordings. */
int dw_file_open(const char *path, struct dw_file *file);
/* What a person has named: pipes too, and "-" is standard input. */
int dw_file_open_any(const char *path, struct dw_file *file);
void dw_file_close(struct dw_file *file);

#endif
