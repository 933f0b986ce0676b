/* SPDX-License-Identifier: MIT
 * Source lines and inlined functions by address, from DWARF as libdw reads it. Only where logs
 * are read: a program that is profiled never loads libdw. */
#ifndef DW_NATIVE_DEBUG_DWARF_LINES_H
#define DW_NATIVE_DEBUG_DWARF_LINES_H

#include "native/elf/elf_file.h"

#define DW_INLINED_MAX 64

struct dw_dwarf; /* of one file */

/* A function at an address, and where in its source. Valid as long as the struct dw_dwarf. */
struct dw_source_line {
    const char *function; /* as the linker has it, else as in the source; NULL: unknown */
    const char *file;     /* of the line, else of the function; NULL: unknown */
    uint32_t line;        /* 0: unknown */
    uint32_t first_line;  /* where the function begins in the same file; 0: unknown */
};

/* Debug information of the file, or of its separate debug file (as dw_debug_file_open has
 * them). DW_ERR_EMPTY when there is none. */
int dw_dwarf_open(const struct dw_elf *elf, const char *path, const char *directories,
                  struct dw_dwarf **dwarf);
void dw_dwarf_close(struct dw_dwarf *dwarf);
/* How many functions are at the address, the innermost first, each inlined into the next. */
uint32_t dw_dwarf_find(struct dw_dwarf *dwarf, uint64_t address,
                       struct dw_source_line lines[DW_INLINED_MAX]);

#endif
