/* SPDX-License-Identifier: MIT
 * Debug information that was split off from an ELF file: by build id in the system's
 * directory, or by the name that the file gives (.gnu_debuglink) beside it. */
#ifndef DW_NATIVE_ELF_DEBUG_FILE_H
#define DW_NATIVE_ELF_DEBUG_FILE_H

#include "native/elf/elf_file.h"

#define DW_DEBUG_DIRECTORY "/usr/lib/debug"

/* An fd of the debug file that belongs to the file at `path`, proven by build id or checksum; -1
 * when there is none. `directories`, with colons between them, are searched before the system's;
 * NULL: none. */
int dw_debug_file_open(const struct dw_elf *elf, const char *path, const char *directories);

#endif
