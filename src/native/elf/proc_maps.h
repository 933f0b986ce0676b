/* SPDX-License-Identifier: MIT
 * What a process has mapped, by the kernel's list: /proc/PID/maps. */
#ifndef DW_NATIVE_ELF_PROC_MAPS_H
#define DW_NATIVE_ELF_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct dw_map_line {
    uint64_t start, end, file_offset;
    bool is_writable, is_executable;
    const char *path; /* "" when no file is mapped; valid during the call */
};

/* Any result but 0 ends the list. */
typedef int (*dw_map_line_use)(void *context, const struct dw_map_line *line);

/* Gives all mappings, by address. DW_ERR_PERMISSION, DW_ERR_ENDED, or what `use` returned. */
int dw_maps_each(int pid, dw_map_line_use use, void *context);
/* Whether the memory has its content from the program, and not from a file. */
bool dw_map_line_is_made(const struct dw_map_line *line);
/* Takes off what the kernel puts behind the path of a file that is gone. */
void dw_path_cut_deleted(char *path);

#endif
