/* SPDX-License-Identifier: MIT
 * Lines that cannot be parsed are skipped: the kernel writes the list while the process changes
 * it. */
#include "native/elf/proc_maps.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

void dw_path_cut_deleted(char *path)
{
    size_t size = strlen(path), tail = strlen(DELETED);
    if (size > tail && !strcmp(path + size - tail, DELETED))
        path[size - tail] = 0;
}

static bool parse(char *line, struct dw_map_line *mapping)
{
    char flags[5];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping->start,
               &mapping->end, flags, &mapping->file_offset, &path_at) < 4 ||
        !path_at || mapping->start >= mapping->end)
        return false;
    char *path = line + path_at;
    path[strcspn(path, "\n")] = 0;
    dw_path_cut_deleted(path);
    mapping->is_writable = flags[1] == 'w';
    mapping->is_executable = flags[2] == 'x';
    mapping->path = path;
    return true;
}

int dw_maps_each(int pid, dw_map_line_use use, void *context)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return errno == EACCES || errno == EPERM ? DW_ERR_PERMISSION : DW_ERR_ENDED;
    char *line = NULL;
    size_t capacity = 0;
    int error = 0;
    struct dw_map_line mapping;
    while (!error && getline(&line, &capacity, maps) > 0)
        if (parse(line, &mapping))
            error = use(context, &mapping);
    free(line);
    fclose(maps);
    return error;
}

bool dw_map_line_is_made(const struct dw_map_line *line)
{
    static const char *const prefixes[] = {"[anon",   "[heap]",    "[stack",
                                           "/memfd:", "/dev/zero", "/SYSV"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(line->path, prefixes[i], strlen(prefixes[i])))
            return true;
    return !*line->path;
}
