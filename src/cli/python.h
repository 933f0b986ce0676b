/* SPDX-License-Identifier: MIT */
#ifndef DW_CLI_PYTHON_H
#define DW_CLI_PYTHON_H

#include <stddef.h>

/* The interpreter that dwell is installed beside, in `path`, else the first on PATH. */
const char *dw_python_find(char *path, size_t size);

#endif
