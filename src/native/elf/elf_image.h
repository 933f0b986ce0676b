/* SPDX-License-Identifier: MIT
 * What the program headers of a loaded ELF object tell, read from memory: files may be gone,
 * replaced, or under another root. */
#ifndef DW_NATIVE_ELF_ELF_IMAGE_H
#define DW_NATIVE_ELF_ELF_IMAGE_H

#include "model/sample.h"
#include "native/unwind/unwind.h"

#include <elf.h>

#define DW_PAGE_BYTES 4096u

struct dw_elf_image {
    uint64_t bias;                 /* address in memory less that in the file */
    uint64_t hdr, hdr_size;        /* .eh_frame_hdr in memory; 0: none */
    uint64_t info_start, info_end; /* the loaded segment around it */
    uint8_t build_id[DW_BUILD_ID_MAX];
    uint32_t build_id_size;
};

#define DW_ELF_MAX_SEGMENTS 64

/* The program headers of the object whose ELF header is at the address; how many, 0 when none
 * are there. */
uint32_t dw_elf_segments_read(const struct dw_memory *memory, uint64_t address,
                              Elf64_Phdr segments[DW_ELF_MAX_SEGMENTS]);
/* The bias of an object whose ELF header was found at the address. */
uint64_t dw_elf_bias(const Elf64_Phdr *segments, uint32_t count, uint64_t address);
void dw_elf_image_read(const struct dw_memory *memory, const Elf64_Phdr *segments, uint32_t count,
                       uint64_t bias, struct dw_elf_image *image);

#endif
