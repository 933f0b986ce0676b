/* SPDX-License-Identifier: MIT
 * Names of native functions by address, from the symbol tables of an ELF file and of its
 * separate debug file. Names are as the linker has them, not demangled. Uses neither libelf nor
 * libdw: it runs in the program that is profiled. */
#ifndef DW_NATIVE_ELF_SYMBOLS_H
#define DW_NATIVE_ELF_SYMBOLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dw_symbols; /* of one file */

struct dw_symbol {
    const char *name; /* valid as long as the symbols */
    uint64_t address, size;
};

/* Takes the fd's content, not the fd. DW_ERR_DAMAGED when it is not an ELF file; an ELF file
 * without symbols opens and finds nothing. A build id of size 0 is not compared; a file with
 * another one is DW_ERR_STALE. `path` is where separate debug files are looked for. */
int dw_symbols_open(int fd, const char *path, const uint8_t *build_id, size_t build_id_size,
                    struct dw_symbols **symbols);
void dw_symbols_close(struct dw_symbols *symbols);
/* The function that holds the address (as the file counts them). Names are kept as they are found,
 * so one thread at a time. */
bool dw_symbols_find(struct dw_symbols *symbols, uint64_t address, struct dw_symbol *symbol);

#endif
