/* SPDX-License-Identifier: MIT
 * Debug information that was split off from an ELF file: by build id in the system's
 * directory, or by the name that the file gives (.gnu_debuglink) beside it. */
#ifndef DW_NATIVE_DEBUG_FILE_H
#define DW_NATIVE_DEBUG_FILE_H

#include "native/elf_file.h"

#define DW_DEBUG_DIRECTORY "/usr/lib/debug"

/* Whether the bytes up to the end of the fd have the checksum that a .gnu_debuglink states. */
bool dw_debug_file_has_crc(int fd, uint32_t crc);
/* An fd of the debug file that belongs to the file at `path`, proven by build id or checksum;
 * -1 when there is none. `directories` are looked into before the system's, with colons
 * between them; NULL: none. */
int dw_debug_file_open(const struct dw_elf *elf, const char *path, const char *directories);

#endif
