/* SPDX-License-Identifier: MIT
 * What a 64-bit ELF file tells about itself. Files come from elsewhere: every offset and count in
 * them is checked, and a file that lies is DW_ERR_DAMAGED. Files are read, not mapped: one that is
 * cut short meanwhile must not stop the program that is profiled. */
#ifndef DW_NATIVE_ELF_ELF_FILE_H
#define DW_NATIVE_ELF_ELF_FILE_H

#include "model/sample.h"

#include <elf.h>

struct dw_elf {
    int fd; /* borrowed */
    uint64_t size;
    uint64_t base_address; /* of the lowest page that is loaded */
    Elf64_Shdr *sections;  /* owned; NULL when there are none */
    uint32_t section_count;
    char *section_names; /* owned; ends in 0 */
    uint64_t section_names_size;
    uint8_t build_id[DW_BUILD_ID_MAX]; /* a longer one is cut */
    uint32_t build_id_size;            /* 0: it has none */
};

int dw_elf_open(int fd, struct dw_elf *elf);
void dw_elf_release(struct dw_elf *elf);
bool dw_elf_has_build_id(const struct dw_elf *elf, const uint8_t *build_id, size_t size);

/* Bytes of the file, all of them or an error. */
int dw_elf_read(const struct dw_elf *elf, uint64_t offset, void *to, uint64_t size);
/* The section of that name, or NULL. */
const Elf64_Shdr *dw_elf_section(const struct dw_elf *elf, const char *name);
/* Its content through a pointer to a pointer, on the heap, with one more byte that is 0. */
int dw_elf_read_section(const struct dw_elf *elf, const Elf64_Shdr *section, void *result);

/* Addresses are those of the file; add where it is loaded and subtract base_address. Both give
 * DW_ERR_EMPTY when it is not there. */
int dw_elf_find_symbol(const struct dw_elf *elf, const char *name, uint64_t *address);
/* The same of several; the address of one that is not there stays as it is. */
int dw_elf_find_symbols(const struct dw_elf *elf, size_t count, const char *const *names,
                        uint64_t *addresses);
int dw_elf_find_section(const struct dw_elf *elf, const char *name, uint64_t *address);

#endif
