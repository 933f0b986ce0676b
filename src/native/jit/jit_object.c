/* SPDX-License-Identifier: MIT
 * A parser of ELF in memory that trusts no offset or size in it. Only what has an address in the
 * process counts: code sections, function symbols and .eh_frame. */
#include "native/jit/jit_object.h"

#include "base/error.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOLS (1u << 20)
#define MAX_NAME_BYTES 4096u
#define MAX_FRAME_BYTES (16u << 20)

struct image {
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
};

static bool has(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset;
}

static bool open_image(const uint8_t *bytes, size_t size, struct image *image)
{
    *image = (struct image){.bytes = bytes, .size = size};
    Elf64_Ehdr *header = &image->header;
    if (size < sizeof *header)
        return false;
    memcpy(header, bytes, sizeof *header);
    return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_shentsize == sizeof(Elf64_Shdr) &&
           has(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
}

/* All zero when there is no such section. */
static Elf64_Shdr section_at(const struct image *image, uint32_t index)
{
    Elf64_Shdr section = {0};
    if (index < image->header.e_shnum)
        memcpy(&section, image->bytes + image->header.e_shoff + index * sizeof section,
               sizeof section);
    return section;
}

/* The text at an offset of a section of texts; NULL when it is not there. */
static const char *text_at(const struct image *image, const Elf64_Shdr *texts, uint64_t offset,
                           size_t *size)
{
    if (!has(image, texts->sh_offset, texts->sh_size) || offset >= texts->sh_size ||
        texts->sh_type != SHT_STRTAB)
        return NULL;
    uint64_t left = texts->sh_size - offset;
    *size = left < MAX_NAME_BYTES ? (size_t)left : MAX_NAME_BYTES;
    return (const char *)image->bytes + texts->sh_offset + offset;
}

static bool is_code(const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_EXECINSTR && section->sh_flags & SHF_ALLOC && section->sh_size &&
           section->sh_addr && section->sh_size < UINT64_MAX - section->sh_addr;
}

/* Symbols of an object that is not linked count from their section. */
static int add_symbol(const struct image *image, const Elf64_Shdr *texts, const Elf64_Sym *symbol,
                      struct dw_jit_names *names)
{
    size_t size;
    Elf64_Shdr section = section_at(image, symbol->st_shndx);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        !is_code(&section))
        return 0;
    bool is_relative = image->header.e_type == ET_REL;
    uint64_t offset = is_relative ? symbol->st_value : symbol->st_value - section.sh_addr;
    const char *text = text_at(image, texts, symbol->st_name, &size);
    if (!text || offset >= section.sh_size)
        return 0;
    uint64_t room = section.sh_size - offset;
    return dw_jit_names_add(names, section.sh_addr + offset,
                            symbol->st_size && symbol->st_size < room ? symbol->st_size : room,
                            text, size);
}

static int add_symbols(const struct image *image, const Elf64_Shdr *table,
                       struct dw_jit_names *names)
{
    Elf64_Sym symbol;
    uint64_t count = table->sh_size / sizeof symbol;
    Elf64_Shdr texts = section_at(image, table->sh_link);
    int error = 0;
    if (!has(image, table->sh_offset, table->sh_size))
        return 0;
    for (uint64_t i = 0; i < count && i < MAX_SYMBOLS && !error; i++) {
        memcpy(&symbol, image->bytes + table->sh_offset + i * sizeof symbol, sizeof symbol);
        error = add_symbol(image, &texts, &symbol, names);
    }
    return error;
}

static bool is_named(const struct image *image, const Elf64_Shdr *section, const char *name)
{
    size_t size;
    Elf64_Shdr texts = section_at(image, image->header.e_shstrndx);
    const char *text = text_at(image, &texts, section->sh_name, &size);
    return text && size > strlen(name) && !strcmp(text, name);
}

/* An object that is not linked lacks addresses: the JIT put them into the section in memory. */
static int read_unwinding(const struct image *image, const Elf64_Shdr *section,
                          const struct dw_memory *memory, struct dw_eh_index *index)
{
    uint8_t *copy = NULL;
    bool is_finished = image->header.e_type != ET_REL;
    if (!section->sh_addr || !section->sh_size || section->sh_size > MAX_FRAME_BYTES)
        return 0;
    if (is_finished && !has(image, section->sh_offset, section->sh_size))
        return 0;
    if (!is_finished && !(copy = malloc(section->sh_size)))
        return DW_ERR_MEMORY;
    int error = 0;
    if (is_finished || memory->read(memory->context, section->sh_addr, copy, section->sh_size))
        error = dw_eh_index_make(copy ? copy : image->bytes + section->sh_offset, section->sh_size,
                                 section->sh_addr, index);
    free(copy);
    return error == DW_ERR_MEMORY ? error : 0;
}

static int read_section(const struct image *image, const Elf64_Shdr *section,
                        const struct dw_memory *memory, struct dw_jit_object *object)
{
    if (is_code(section) && object->code_count < DW_JIT_SECTIONS_MAX)
        object->code[object->code_count++] =
            (struct dw_jit_range){section->sh_addr, section->sh_addr + section->sh_size};
    if (section->sh_type == SHT_SYMTAB)
        return add_symbols(image, section, &object->names);
    if (!object->unwinding.bytes && is_named(image, section, ".eh_frame"))
        return read_unwinding(image, section, memory, &object->unwinding);
    return 0;
}

int dw_jit_object_read(const uint8_t *bytes, size_t size, const struct dw_memory *memory,
                       struct dw_jit_object *object)
{
    struct image image;
    struct dw_jit_object made = {0};
    int error = open_image(bytes, size, &image) ? 0 : DW_ERR_DAMAGED;
    for (uint32_t i = 0; !error && i < image.header.e_shnum; i++) {
        Elf64_Shdr section = section_at(&image, i);
        error = read_section(&image, &section, memory, &made);
    }
    if (error)
        dw_jit_object_release(&made);
    else
        *object = made;
    return error;
}

void dw_jit_object_release(struct dw_jit_object *object)
{
    dw_jit_names_release(&object->names);
    free(object->unwinding.bytes);
    *object = (struct dw_jit_object){0};
}
