/* SPDX-License-Identifier: MIT
 * Where a 64-bit ELF file says that something lies. Files come from elsewhere: every
 * offset and count in them is checked, and a file that lies is DW_ERR_DAMAGED. */
#ifndef DW_ATTACH_ELF_SYMBOL_H
#define DW_ATTACH_ELF_SYMBOL_H

#include <elf.h>
#include <stdint.h>

struct dw_elf {
    int fd; /* borrowed */
    uint64_t size;
    uint64_t base_address; /* of the lowest page that is loaded */
    Elf64_Shdr *sections;  /* owned; NULL when there are none */
    uint32_t section_count;
    char *section_names; /* owned; ends in 0 */
    uint64_t section_names_size;
};

int dw_elf_open(int fd, struct dw_elf *elf);
void dw_elf_release(struct dw_elf *elf);
/* Addresses are those of the file; add where it is loaded and take off base_address. Both
 * give DW_ERR_EMPTY when there is no such thing. */
int dw_elf_find_symbol(const struct dw_elf *elf, const char *name, uint64_t *address);
int dw_elf_find_section(const struct dw_elf *elf, const char *name, uint64_t *address);

#endif
