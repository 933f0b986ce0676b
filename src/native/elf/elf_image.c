/* SPDX-License-Identifier: MIT
 * Nothing in the headers is believed: what is read lies in a loaded segment, and the number of
 * notes is bounded, since the memory may be that of another process. */
#include "native/elf/elf_image.h"

#include <string.h>

#define MAX_NOTES 64

uint32_t dw_elf_segments_read(const struct dw_memory *memory, uint64_t address,
                              Elf64_Phdr segments[DW_ELF_MAX_SEGMENTS])
{
    Elf64_Ehdr header;
    if (!memory->read(memory->context, address, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof *segments ||
        header.e_phnum > DW_ELF_MAX_SEGMENTS ||
        !memory->read(memory->context, address + header.e_phoff, segments,
                      header.e_phnum * sizeof *segments))
        return 0;
    return header.e_phnum;
}

uint64_t dw_elf_bias(const Elf64_Phdr *segments, uint32_t count, uint64_t address)
{
    for (uint32_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset < DW_PAGE_BYTES)
            return address - (segments[i].p_vaddr - segments[i].p_offset);
    return address;
}

/* The loaded segment that has all of the other one's file content, or NULL. */
static const Elf64_Phdr *loaded_around(const Elf64_Phdr *segments, uint32_t count,
                                       const Elf64_Phdr *inner)
{
    for (uint32_t i = 0; i < count; i++) {
        const Elf64_Phdr *outer = &segments[i];
        if (outer->p_type == PT_LOAD && inner->p_vaddr >= outer->p_vaddr &&
            inner->p_vaddr - outer->p_vaddr <= outer->p_filesz &&
            inner->p_filesz <= outer->p_filesz - (inner->p_vaddr - outer->p_vaddr))
            return outer;
    }
    return NULL;
}

static uint64_t aligned(uint64_t size, uint64_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

static void read_build_id(const struct dw_memory *memory, const Elf64_Phdr *segment,
                          struct dw_elf_image *image)
{
    uint64_t at = image->bias + segment->p_vaddr, end = at + segment->p_filesz;
    uint64_t alignment = segment->p_align == 8 ? 8 : 4;
    struct {
        Elf64_Nhdr header;
        char name[4];
    } note;
    for (int i = 0; i < MAX_NOTES && at < end && end - at >= sizeof note; i++) {
        if (!memory->read(memory->context, at, &note, sizeof note))
            return;
        uint64_t content = at + aligned(sizeof note.header + note.header.n_namesz, alignment);
        bool is_build_id = note.header.n_type == NT_GNU_BUILD_ID && note.header.n_namesz == 4 &&
                           !memcmp(note.name, "GNU", 4);
        if (is_build_id && note.header.n_descsz <= sizeof image->build_id &&
            content + note.header.n_descsz <= end &&
            memory->read(memory->context, content, image->build_id, note.header.n_descsz)) {
            image->build_id_size = note.header.n_descsz;
            return;
        }
        at = content + aligned(note.header.n_descsz, alignment);
    }
}

void dw_elf_image_read(const struct dw_memory *memory, const Elf64_Phdr *segments, uint32_t count,
                       uint64_t bias, struct dw_elf_image *image)
{
    *image = (struct dw_elf_image){.bias = bias};
    for (uint32_t i = 0; i < count; i++) {
        const Elf64_Phdr *segment = &segments[i];
        const Elf64_Phdr *outer = loaded_around(segments, count, segment);
        if (outer && segment->p_type == PT_GNU_EH_FRAME) {
            image->hdr = bias + segment->p_vaddr;
            image->hdr_size = segment->p_filesz;
            image->info_start = bias + outer->p_vaddr;
            image->info_end = image->info_start + outer->p_filesz;
        } else if (outer && segment->p_type == PT_NOTE && !image->build_id_size) {
            read_build_id(memory, segment, image);
        }
    }
}
