/* SPDX-License-Identifier: MIT
 * Tables are copied to the heap, with their sizes checked against the file's and against limits. A
 * terminating 0 is put behind each, so that names in them always end. */
#include "native/elf/elf_file.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MASK (~(uint64_t)4095)
#define MAX_NOTE_BYTES ((uint64_t)1 << 20)
#define MAX_TABLE_BYTES ((uint64_t)256 << 20) /* the largest symbol tables have some 50 MB */

int dw_elf_read(const struct dw_elf *elf, uint64_t offset, void *to, uint64_t size)
{
    if (size > elf->size || offset > elf->size - size)
        return DW_ERR_DAMAGED;
    char *at = to;
    while (size) {
        ssize_t got = pread(elf->fd, at, size, (off_t)offset);
        if (got <= 0)
            return got < 0 ? DW_ERR_IO : DW_ERR_DAMAGED;
        at += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return 0;
}

/* A table of the file, on the heap, with one more byte that is 0. */
static int read_table(const struct dw_elf *elf, uint64_t offset, uint64_t size, void *result)
{
    if (size > MAX_TABLE_BYTES || size > elf->size)
        return DW_ERR_DAMAGED;
    char *table = malloc(size + 1);
    if (!table)
        return DW_ERR_MEMORY;
    int error = dw_elf_read(elf, offset, table, size);
    if (error) {
        free(table);
        return error;
    }
    table[size] = 0;
    memcpy(result, &table, sizeof table);
    return 0;
}

static bool is_supported(const Elf64_Ehdr *header)
{
    return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_phentsize == sizeof(Elf64_Phdr);
}

int dw_elf_read_section(const struct dw_elf *elf, const Elf64_Shdr *section, void *result)
{
    if (section->sh_type == SHT_NOBITS)
        return DW_ERR_EMPTY;
    return read_table(elf, section->sh_offset, section->sh_size, result);
}

static int find_base(struct dw_elf *elf, const Elf64_Phdr *segments, uint32_t count)
{
    uint64_t base = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < base)
            base = segments[i].p_vaddr;
    if (base == UINT64_MAX)
        return DW_ERR_DAMAGED;
    elf->base_address = base & PAGE_MASK;
    return 0;
}

/* Takes the build id if it is among the notes. */
static bool take_build_id(struct dw_elf *elf, const char *notes, uint64_t size)
{
    Elf64_Nhdr note;
    for (uint64_t at = 0; size - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        uint64_t name_size = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
        uint64_t content_size = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
        if (name_size > size - at || note.n_descsz > size - at - name_size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            !memcmp(notes + at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
            elf->build_id_size = note.n_descsz < DW_BUILD_ID_MAX ? note.n_descsz : DW_BUILD_ID_MAX;
            memcpy(elf->build_id, notes + at + name_size, elf->build_id_size);
            return true;
        }
        if (content_size > size - at - name_size)
            return false;
        at += name_size + content_size;
    }
    return false;
}

static bool find_build_id(struct dw_elf *elf, uint64_t offset, uint64_t size)
{
    char *notes;
    if (size > MAX_NOTE_BYTES || read_table(elf, offset, size, &notes))
        return false;
    bool found = take_build_id(elf, notes, size);
    free(notes);
    return found;
}

/* Sections first: the segments of a separate debug file point to nowhere. */
static void read_build_id(struct dw_elf *elf, const Elf64_Phdr *segments, uint32_t count)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_type == SHT_NOTE &&
            find_build_id(elf, elf->sections[i].sh_offset, elf->sections[i].sh_size))
            return;
    for (uint32_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_NOTE &&
            find_build_id(elf, segments[i].p_offset, segments[i].p_filesz))
            return;
}

bool dw_elf_has_build_id(const struct dw_elf *elf, const uint8_t *build_id, size_t size)
{
    return elf->build_id_size == size && !memcmp(elf->build_id, build_id, size);
}

static int read_sections(struct dw_elf *elf, const Elf64_Ehdr *header)
{
    if (!header->e_shoff || !header->e_shnum)
        return 0;
    if (header->e_shentsize != sizeof *elf->sections || header->e_shstrndx >= header->e_shnum)
        return DW_ERR_DAMAGED;
    int error = read_table(elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof *elf->sections,
                           &elf->sections);
    if (error)
        return error;
    elf->section_count = header->e_shnum;
    const Elf64_Shdr *names = &elf->sections[header->e_shstrndx];
    elf->section_names_size = names->sh_size;
    return read_table(elf, names->sh_offset, names->sh_size, &elf->section_names);
}

int dw_elf_open(int fd, struct dw_elf *elf)
{
    struct stat status;
    Elf64_Ehdr header;
    if (fstat(fd, &status))
        return DW_ERR_IO;
    struct dw_elf opened = {.fd = fd, .size = (uint64_t)status.st_size};
    Elf64_Phdr *segments = NULL;
    int error = dw_elf_read(&opened, 0, &header, sizeof header);
    if (!error && !is_supported(&header))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = read_table(&opened, header.e_phoff, (uint64_t)header.e_phnum * sizeof *segments,
                           &segments);
    if (!error)
        error = read_sections(&opened, &header);
    if (!error)
        error = find_base(&opened, segments, header.e_phnum);
    if (!error)
        read_build_id(&opened, segments, header.e_phnum);
    free(segments);
    if (error)
        dw_elf_release(&opened);
    else
        *elf = opened;
    return error;
}

void dw_elf_release(struct dw_elf *elf)
{
    free(elf->sections);
    free(elf->section_names);
    *elf = (struct dw_elf){.fd = -1};
}

/* Only the offset can be wrong: the tables are as large as they say, and end in 0. */
static bool has_name(const char *names, uint64_t size, uint64_t offset, const char *name)
{
    return offset < size && !strcmp(names + offset, name);
}

const Elf64_Shdr *dw_elf_section(const struct dw_elf *elf, const char *name)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (has_name(elf->section_names, elf->section_names_size, elf->sections[i].sh_name, name))
            return &elf->sections[i];
    return NULL;
}

int dw_elf_find_section(const struct dw_elf *elf, const char *name, uint64_t *address)
{
    const Elf64_Shdr *section = dw_elf_section(elf, name);
    if (!section || !section->sh_addr)
        return DW_ERR_EMPTY;
    *address = section->sh_addr;
    return 0;
}

/* Linkers that optimize make the names of functions that others cannot see unique. */
static bool has_symbol_name(const char *names, uint64_t size, uint64_t offset, const char *name)
{
    size_t length = strlen(name);
    if (offset >= size || strncmp(names + offset, name, length) != 0)
        return false;
    const char *rest = names + offset + length;
    bool is_unique = !strncmp(rest, ".lto_priv.", 10) && !strchr(rest + 10, '.');
    return !*rest || is_unique;
}

/* What is wanted, and where it was found: in the first table that has it. */
struct wanted {
    const char *const *names;
    uint64_t *addresses;
    bool *are_found;
    size_t count, left;
};

static void find_in_tables(const Elf64_Sym *symbols, uint64_t count, const char *names,
                           uint64_t names_size, struct wanted *wanted)
{
    for (uint64_t i = 0; i < count && wanted->left; i++) {
        for (size_t j = 0; j < wanted->count && symbols[i].st_shndx != SHN_UNDEF; j++) {
            if (wanted->are_found[j] ||
                !has_symbol_name(names, names_size, symbols[i].st_name, wanted->names[j]))
                continue;
            wanted->addresses[j] = symbols[i].st_value;
            wanted->are_found[j] = true;
            wanted->left--;
        }
    }
}

static int find_in_section(const struct dw_elf *elf, const Elf64_Shdr *table, struct wanted *wanted)
{
    if (table->sh_link >= elf->section_count)
        return DW_ERR_DAMAGED;
    const Elf64_Shdr *strings = &elf->sections[table->sh_link];
    Elf64_Sym *symbols = NULL;
    char *names = NULL;
    int error = dw_elf_read_section(elf, table, &symbols);
    if (!error)
        error = dw_elf_read_section(elf, strings, &names);
    if (!error)
        find_in_tables(symbols, table->sh_size / sizeof *symbols, names, strings->sh_size, wanted);
    free(symbols);
    free(names);
    return error;
}

/* The symbols for dynamic linking first: they are few, and strip leaves them in. */
static int find_wanted(const struct dw_elf *elf, struct wanted *wanted)
{
    static const uint32_t kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
    int result = DW_ERR_EMPTY;
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < elf->section_count && wanted->left; i++) {
            if (elf->sections[i].sh_type != kinds[kind])
                continue;
            int error = find_in_section(elf, &elf->sections[i], wanted);
            if (error)
                result = error;
        }
    }
    return wanted->left ? result : 0;
}

int dw_elf_find_symbols(const struct dw_elf *elf, size_t count, const char *const *names,
                        uint64_t *addresses)
{
    bool *are_found = calloc(count, sizeof *are_found);
    struct wanted wanted = {names, addresses, are_found, count, count};
    int error = are_found ? find_wanted(elf, &wanted) : DW_ERR_MEMORY;
    free(are_found);
    return error == DW_ERR_EMPTY && wanted.left < count ? 0 : error;
}

int dw_elf_find_symbol(const struct dw_elf *elf, const char *name, uint64_t *address)
{
    return dw_elf_find_symbols(elf, 1, &name, address);
}
