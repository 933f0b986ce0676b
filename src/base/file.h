/* SPDX-License-Identifier: MIT
 * Whole files, read at once. */
#ifndef DW_BASE_FILE_H
#define DW_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a regular file, read into memory. */
struct dw_file {
    const uint8_t *data;
    size_t size;
};

int dw_file_open(const char *path, struct dw_file *file);
void dw_file_close(struct dw_file *file);

#endif
