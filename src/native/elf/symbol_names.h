/* SPDX-License-Identifier: MIT
 * Names out of the string tables of ELF files. The largest libraries have more than a hundred
 * megabytes of them, of which a few names are wanted: such a table stays in its file. */
#ifndef DW_NATIVE_ELF_SYMBOL_NAMES_H
#define DW_NATIVE_ELF_SYMBOL_NAMES_H

#include "native/elf/elf_file.h"

struct dw_symbol_names {
    char *bytes; /* owned, ends in 0; NULL: read from the fd when wanted */
    uint64_t size;
    int fd; /* owned; -1: none */
    uint64_t offset;
    uint64_t device, inode;
    int64_t changed_s, changed_ns; /* of the file then: a changed file has other names */
};

int dw_symbol_names_open(const struct dw_elf *elf, const Elf64_Shdr *strings,
                         struct dw_symbol_names *names);
void dw_symbol_names_release(struct dw_symbol_names *names);
/* The name and then the suffix, on the heap; NULL when it has none or cannot be read. */
char *dw_symbol_name_copy(const struct dw_symbol_names *names, uint32_t at, const char *suffix);

#endif
