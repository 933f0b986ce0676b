/* SPDX-License-Identifier: MIT
 * Addresses in a profile are those in memory; the program headers of the file tell how far they are
 * from those in the file. */
#include "import/object.h"

#include "base/file.h"
#include "base/grow.h"
#include "native/elf/elf_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define PAGE_BYTES 4096u

/* The address that the file gives the byte at `offset`. */
static bool find_address(const struct dw_elf *elf, uint64_t offset, uint64_t *address)
{
    Elf64_Ehdr header;
    if (dw_elf_read(elf, 0, &header, sizeof header) || header.e_phnum > SEGMENTS_MAX)
        return false;
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (dw_elf_read(elf, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
        uint64_t page = segment.p_offset & ~(uint64_t)(PAGE_BYTES - 1);
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || offset < page ||
            offset - page >= segment.p_filesz + PAGE_BYTES)
            continue;
        *address = segment.p_vaddr - segment.p_offset + offset;
        return true;
    }
    return false;
}

static uint64_t find_bias(int fd, const struct dw_module *module)
{
    struct dw_elf elf;
    uint64_t address = module->file_offset;
    if (dw_elf_open(fd, &elf))
        return module->start - address;
    find_address(&elf, module->file_offset, &address);
    dw_elf_release(&elf);
    return module->start - address;
}

static bool is_newer(const struct stat *status, uint64_t written_ns)
{
    uint64_t changed_ns =
        (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
    return changed_ns > written_ns;
}

/* Opening the symbols compares the build id with that of the file. */
void dw_object_open(struct dw_object *object, const char *path, const struct dw_module *module,
                    uint64_t written_ns)
{
    struct stat status;
    int fd = *path == '/' ? dw_file_open_regular(path, &status) : -1;
    *object = (struct dw_object){.bias = module->start - module->file_offset};
    if (fd < 0)
        return;
    bool is_changed = !module->build_id_size && is_newer(&status, written_ns);
    if (!is_changed &&
        !dw_symbols_open(fd, path, module->build_id, module->build_id_size, &object->symbols))
        object->bias = find_bias(fd, module);
    close(fd);
}

void dw_object_close(struct dw_object *object)
{
    if (object->symbols)
        dw_symbols_close(object->symbols);
    object->symbols = NULL;
}

uint32_t dw_object_add_module(const struct dw_object *object, struct dw_module module,
                              struct dw_foreign *foreign)
{
    struct dw_profile *profile = foreign->profile;
    int error = DW_GROW(profile->modules, profile->module_count, profile->module_capacity);
    if (error) {
        foreign->error = error;
        return 0;
    }
    module.bias = object->bias;
    profile->modules[profile->module_count++] = module;
    return profile->module_count;
}

dw_string_id dw_object_name_at(const struct dw_object *object, uint64_t address, dw_string_id path,
                               struct dw_foreign *foreign)
{
    struct dw_symbol symbol;
    if (object->symbols && dw_symbols_find(object->symbols, address, &symbol))
        return dw_foreign_string(foreign, (struct dw_string){symbol.name, strlen(symbol.name)});
    return dw_foreign_object_name(foreign, dw_profile_string(foreign->profile, path));
}
