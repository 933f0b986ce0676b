/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cli/python.h"

#include <string.h>
#include <unistd.h>

const char *dw_python_find(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 16);
    if (length > 0) {
        path[length] = 0;
        char *slash = strrchr(path, '/');
        strcpy(slash + 1, "python3");
        if (!access(path, X_OK))
            return path;
    }
    return "python3";
}
