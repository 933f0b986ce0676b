/* SPDX-License-Identifier: MIT
 * Lists are made anew and sorted, never changed in place. Our own come from the dynamic linker,
 * another process's from /proc/PID/maps; both have the paths that the kernel knows, so recordings
 * from inside and outside agree. */
#include "native/elf/modules.h"

#include "base/grow.h"
#include "native/elf/elf_image.h"
#include "native/elf/memory.h"
#include "native/elf/proc_maps.h"

#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define VDSO_PATH "[vdso]"

struct range {
    uint64_t start, end, file_offset;
};

static int add_module(struct dw_native_modules *modules, const struct range *range,
                      const struct dw_elf_image *image, const char *path)
{
    int error = DW_GROW(modules->modules, modules->count, modules->capacity);
    if (error)
        return error;
    struct dw_native_module *module = &modules->modules[modules->count];
    *module = (struct dw_native_module){.start = range->start,
                                        .end = range->end,
                                        .file_offset = range->file_offset,
                                        .bias = image->bias,
                                        .hdr = image->hdr,
                                        .hdr_size = image->hdr_size,
                                        .info_start = image->info_start,
                                        .info_end = image->info_end,
                                        .path = strdup(path),
                                        .build_id_size = image->build_id_size};
    memcpy(module->build_id, image->build_id, sizeof module->build_id);
    if (!module->path)
        return DW_ERR_MEMORY;
    modules->count++;
    return 0;
}

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(DW_PAGE_BYTES - 1);
}

static int add_known(struct dw_native_modules *modules, const struct dw_native_module *known)
{
    int error = DW_GROW(modules->modules, modules->count, modules->capacity);
    char *path = error ? NULL : strdup(known->path);
    if (!path)
        return DW_ERR_MEMORY;
    modules->modules[modules->count] = *known;
    modules->modules[modules->count++].path = path;
    return 0;
}

static bool is_code(const Elf64_Phdr *segment)
{
    return segment->p_type == PT_LOAD && segment->p_flags & PF_X;
}

static struct range range_of(const Elf64_Phdr *segment, uint64_t bias)
{
    uint64_t start = bias + segment->p_vaddr;
    return (struct range){.start = page_of(start),
                          .end = page_of(start + segment->p_memsz + DW_PAGE_BYTES - 1),
                          .file_offset = page_of(segment->p_offset)};
}

/* One module for each segment that is executable. */
static int add_segments(struct dw_native_modules *modules, const Elf64_Phdr *segments,
                        uint32_t count, uint64_t bias, const char *path)
{
    struct dw_elf_image image;
    int error = 0;
    dw_elf_image_read(&dw_memory_own, segments, count, bias, &image);
    for (uint32_t i = 0; i < count && !error; i++) {
        struct range range = range_of(&segments[i], bias);
        if (is_code(&segments[i]))
            error = add_module(modules, &range, &image, path);
    }
    return error;
}

struct own_list {
    struct dw_native_modules *modules;
    const struct dw_native_modules *before;
    uint64_t vdso; /* where its ELF header is; 0 when there is none, or it was seen */
    int error;
};

/* Adds the modules of an object as they were before; false when it was not there. */
static bool add_object_as_before(struct own_list *list, const struct dl_phdr_info *info)
{
    const struct dw_native_modules *before = list->before;
    bool is_known = false;
    if (before->unloads != info->dlpi_subs)
        return false;
    for (uint32_t i = 0; i < info->dlpi_phnum && !list->error; i++) {
        if (!is_code(&info->dlpi_phdr[i]))
            continue;
        struct range range = range_of(&info->dlpi_phdr[i], info->dlpi_addr);
        const struct dw_native_module *known = dw_native_modules_find(before, range.start);
        if (!known)
            return false;
        is_known = true;
        list->error = add_known(list->modules, known);
    }
    return is_known;
}

static int add_own(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct own_list *list = context;
    bool is_vdso = list->vdso && list->vdso == info->dlpi_addr;
    list->modules->unloads = info->dlpi_subs;
    if (!add_object_as_before(list, info))
        list->error = add_segments(list->modules, info->dlpi_phdr, info->dlpi_phnum,
                                   info->dlpi_addr, is_vdso ? VDSO_PATH : info->dlpi_name);
    if (is_vdso)
        list->vdso = 0;
    return list->error;
}

/* Not every C library lists the kernel's object. */
static int add_vdso(struct dw_native_modules *modules, uint64_t address)
{
    Elf64_Phdr segments[DW_ELF_MAX_SEGMENTS];
    uint32_t count = address ? dw_elf_segments_read(&dw_memory_own, address, segments) : 0;
    uint64_t bias = count ? dw_elf_bias(segments, count, address) : 0;
    return count ? add_segments(modules, segments, count, bias, VDSO_PATH) : 0;
}

static int replace_path(struct dw_native_module *module, const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return DW_ERR_MEMORY;
    free(module->path);
    module->path = copy;
    return 0;
}

/* The linker's list has no name for the program, and names libraries as they were asked for. The
 * kernel has one name for each file, which is used here too. */
static int complete_path(struct dw_native_module *module)
{
    char path[PATH_MAX];
    if (*module->path == '[' || module->has_real_path)
        return 0;
    module->has_real_path = true;
    if (*module->path)
        return realpath(module->path, path) ? replace_path(module, path) : 0;
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    dw_path_cut_deleted(path);
    return replace_path(module, path);
}

static int by_start(const void *left, const void *right)
{
    const struct dw_native_module *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void sort_modules(struct dw_native_modules *modules)
{
    if (modules->count)
        qsort(modules->modules, modules->count, sizeof *modules->modules, by_start);
}

static int hand_over(struct dw_native_modules *made, int error, struct dw_native_modules *result)
{
    if (error) {
        dw_native_modules_release(made);
        return error;
    }
    sort_modules(made);
    *result = *made;
    return 0;
}

int dw_native_modules_own(const struct dw_native_modules *before, struct dw_native_modules *modules)
{
    struct dw_native_modules made = {0};
    struct own_list list = {.modules = &made, .before = before, .vdso = getauxval(AT_SYSINFO_EHDR)};
    dl_iterate_phdr(add_own, &list);
    if (!list.error)
        list.error = add_vdso(&made, list.vdso);
    for (uint32_t i = 0; i < made.count && !list.error; i++)
        list.error = complete_path(&made.modules[i]);
    return hand_over(&made, list.error, modules);
}

/* The object whose beginning was mapped last: its executable mappings come after that. */
struct head {
    char path[PATH_MAX];
    uint64_t address;
};

static void set_head(struct head *head, const struct dw_map_line *mapping)
{
    if (mapping->file_offset || strlen(mapping->path) >= sizeof head->path)
        return;
    memcpy(head->path, mapping->path, strlen(mapping->path) + 1);
    head->address = mapping->start;
}

static int add_mapping(struct dw_native_modules *modules, const struct dw_memory *memory,
                       const struct dw_map_line *mapping, const struct head *head)
{
    Elf64_Phdr segments[DW_ELF_MAX_SEGMENTS];
    struct dw_elf_image image = {.bias = mapping->start - mapping->file_offset};
    bool has_head = !strcmp(head->path, mapping->path);
    uint32_t count = has_head ? dw_elf_segments_read(memory, head->address, segments) : 0;
    if (!count && dw_map_line_is_made(mapping))
        return 0;
    if (count)
        dw_elf_image_read(memory, segments, count, dw_elf_bias(segments, count, head->address),
                          &image);
    struct range range = {mapping->start, mapping->end, mapping->file_offset};
    return add_module(modules, &range, &image, mapping->path);
}

struct foreign_list {
    struct dw_native_modules *modules;
    const struct dw_memory *memory;
    struct head head;
};

static int add_foreign(void *context, const struct dw_map_line *mapping)
{
    struct foreign_list *list = context;
    bool is_object = *mapping->path == '/' || !strcmp(mapping->path, VDSO_PATH);
    if (is_object)
        set_head(&list->head, mapping);
    return is_object && mapping->is_executable
               ? add_mapping(list->modules, list->memory, mapping, &list->head)
               : 0;
}

int dw_native_modules_of(int pid, const struct dw_memory *memory, struct dw_native_modules *modules)
{
    struct dw_native_modules made = {0};
    struct foreign_list list = {.modules = &made, .memory = memory, .head = {.path = ""}};
    int error = dw_maps_each(pid, add_foreign, &list);
    return hand_over(&made, error, modules);
}

void dw_native_modules_release(struct dw_native_modules *modules)
{
    for (uint32_t i = 0; i < modules->count; i++)
        free(modules->modules[i].path);
    free(modules->modules);
    *modules = (struct dw_native_modules){0};
}

static int by_address(const void *key, const void *entry)
{
    const struct dw_native_module *module = entry;
    uint64_t address = *(const uint64_t *)key;
    return address < module->start ? -1 : address >= module->end;
}

const struct dw_native_module *dw_native_modules_find(const struct dw_native_modules *modules,
                                                      uint64_t address)
{
    if (!modules->count)
        return NULL;
    return bsearch(&address, modules->modules, modules->count, sizeof *modules->modules,
                   by_address);
}

struct dw_unwind_module dw_unwind_module_of(const struct dw_native_module *module)
{
    return (struct dw_unwind_module){
        .start = module->start,
        .end = module->end,
        .hdr = module->hdr,
        .hdr_size = module->hdr_size,
        .info_start = module->info_start,
        .info_end = module->info_end,
    };
}

int dw_unwind_modules_make(const struct dw_native_modules *modules,
                           struct dw_unwind_modules *result)
{
    struct dw_unwind_module *made = calloc(modules->count + 1u, sizeof *made);
    if (!made)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < modules->count; i++) {
        const struct dw_native_module *module = &modules->modules[i];
        made[i] = dw_unwind_module_of(module);
    }
    *result = (struct dw_unwind_modules){made, modules->count};
    return 0;
}

void dw_unwind_modules_release(struct dw_unwind_modules *modules)
{
    free((void *)modules->modules);
    *modules = (struct dw_unwind_modules){0};
}

static int read_generation(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

uint64_t dw_native_modules_generation(void)
{
    uint64_t generation = 0;
    dl_iterate_phdr(read_generation, &generation);
    return generation;
}

static int read_unloads(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_subs;
    return 1;
}

uint64_t dw_native_modules_unloads(void)
{
    uint64_t unloads = 0;
    dl_iterate_phdr(read_unloads, &unloads);
    return unloads;
}
