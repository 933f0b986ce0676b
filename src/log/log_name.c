/* SPDX-License-Identifier: MIT
 * The one place that makes names of logs, and the one that understands them. */
#include "log/log_name.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXTENSION ".dwell"
#define DIGITS "0123456789."

size_t dw_log_stem_size(const char *path)
{
    size_t size = strlen(path), extension = strlen(EXTENSION);
    bool has_extension = size > extension && !strcmp(path + size - extension, EXTENSION);
    return has_extension ? size - extension : size;
}

int dw_log_name_child(char *path, size_t size, size_t stem_size, pid_t pid, unsigned number)
{
    char count[16] = "";
    if (number > 1)
        snprintf(count, sizeof count, ".%u", number);
    int written = snprintf(path + stem_size, size - stem_size, ".%d%s" EXTENSION, (int)pid, count);
    errno = ENAMETOOLONG;
    return written < (int)(size - stem_size) ? 0 : DW_ERR_IO;
}

int dw_log_name_unused(char *path, size_t size, size_t stem_size, pid_t pid)
{
    struct stat file;
    unsigned number = 0;
    int error;
    do
        error = dw_log_name_child(path, size, stem_size, pid, ++number);
    while (!error && !lstat(path, &file));
    return error;
}

bool dw_log_is_of_child(const char *name, const char *stem, size_t stem_size)
{
    if (strncmp(name, stem, stem_size) != 0 || name[stem_size] != '.')
        return false;
    const char *numbers = name + stem_size + 1;
    size_t size = strspn(numbers, DIGITS);
    return size > 1 && numbers[size - 1] == '.' && !strcmp(numbers + size - 1, EXTENSION);
}

bool dw_log_is_made_up(const char *path)
{
    char id[16];
    const char *slash = strrchr(path, '/');
    snprintf(id, sizeof id, ".%d.", (int)getpid());
    const char *at = strstr(slash ? slash : path, id);
    return at && dw_log_is_of_child(at, at, 0);
}
