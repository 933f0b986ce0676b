/* SPDX-License-Identifier: MIT
 * All that is asked of a library is found by name: in its table of symbols, which is mostly there,
 * also where other libraries cannot see its functions. */
#define _GNU_SOURCE
#include "probe/memory/library_use.h"

#include "native/elf/elf_file.h"
#include "probe/memory/malloc_use.h"
#include "probe/memory/resident_bytes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Functions of allocators that call mmap, by how their names begin. */
static const struct {
    const char *begins, *allocator;
    enum dw_alloc_kind kind;
} makers[] = {
    {"mi_", "mimalloc", DW_ALLOC_MIMALLOC},       {"_mi_", "mimalloc", DW_ALLOC_MIMALLOC},
    {"unix_mmap", "mimalloc", DW_ALLOC_MIMALLOC}, {"je_", "jemalloc", DW_ALLOC_JEMALLOC},
    {"_rjem_", "jemalloc", DW_ALLOC_JEMALLOC},    {"os_pages_map", "jemalloc", DW_ALLOC_JEMALLOC},
    {"pages_map", "jemalloc", DW_ALLOC_JEMALLOC}, {"_ZN8tcmalloc", "tcmalloc", DW_ALLOC_KINDS},
    {"_ZN8snmalloc", "snmalloc", DW_ALLOC_KINDS},
};
#define MAKERS (sizeof makers / sizeof *makers)

static const char *const mallctls[] = {"_rjem_mallctl", "je_arrow_mallctl", "je_mallctl",
                                       "mallctl"};
#define MALLCTLS (sizeof mallctls / sizeof *mallctls)

/* Modules whose mappings are those of Python code. */
static const char *const pythons[] = {"python", "libpython", "mmap"};

static size_t find_maker(struct dw_sample_natives *natives, const struct dw_native_module *module,
                         uint64_t caller)
{
    const char *function = dw_native_names_symbol(&natives->names, module, caller - 1);
    size_t i = 0;
    while (i < MAKERS &&
           (!function || strncmp(function, makers[i].begins, strlen(makers[i].begins)) != 0))
        i++;
    return i;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_python(const char *base)
{
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++)
        if (!strncmp(base, pythons[i], strlen(pythons[i])))
            return true;
    return false;
}

/* Libraries are called by their names without versions. */
static void name_use(struct dw_library_use *use, const struct dw_native_module *module,
                     size_t maker)
{
    const char *base = module ? base_name(module->path) : "";
    int length = (int)strcspn(base, ".");
    *use = (struct dw_library_use){.kind = DW_ALLOC_KINDS, .base = module ? module->bias : 0};
    if (maker < MAKERS) {
        use->is_allocator = true;
        use->kind = makers[maker].kind;
        snprintf(use->name, sizeof use->name, "%s of %.*s", makers[maker].allocator, length, base);
    } else if (*base && !is_python(base)) {
        snprintf(use->name, sizeof use->name, "mapped by %.*s", length, base);
    }
}

const char *dw_library_allocator_at(struct dw_sample_natives *natives, uint64_t address)
{
    const struct dw_native_module *module = dw_native_modules_find(&natives->modules, address);
    size_t maker = module ? find_maker(natives, module, address) : MAKERS;
    return maker < MAKERS ? makers[maker].allocator : NULL;
}

static dw_mallctl *find_mallctl(const struct dw_native_module *module)
{
    uint64_t addresses[MALLCTLS] = {0};
    struct dw_elf elf;
    int fd = open(module->path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !dw_elf_open(fd, &elf)) {
        bool is_same = !module->build_id_size ||
                       dw_elf_has_build_id(&elf, module->build_id, module->build_id_size);
        if (is_same)
            dw_elf_find_symbols(&elf, MALLCTLS, mallctls, addresses);
        dw_elf_release(&elf);
    }
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < MALLCTLS; i++)
        if (addresses[i])
            return (dw_mallctl *)(uintptr_t)(module->bias + addresses[i]);
    return NULL;
}

/* jemalloc counts what it gave; of each library this is looked for once. */
static void ask(struct dw_library_use *use, const struct dw_native_module *module, uint64_t unloads)
{
    static struct known {
        uint64_t start;
        dw_mallctl *mallctl;
    } known[DW_LIBRARIES];
    static uint32_t known_count;
    static uint64_t known_unloads;
    uint32_t i = 0;
    uint64_t resident;
    if (known_unloads != unloads)
        known_count = 0;
    known_unloads = unloads;
    while (i < known_count && known[i].start != module->start)
        i++;
    if (i == DW_LIBRARIES)
        return;
    if (i == known_count)
        known[known_count++] = (struct known){module->start, find_mallctl(module)};
    if (known[i].mallctl)
        use->is_in_use_known = dw_mallctl_read(known[i].mallctl, &use->in_use, &resident);
}

static struct dw_library_use *find_use(struct dw_library_use *uses, uint32_t *count,
                                       const struct dw_native_module *module, size_t maker,
                                       uint64_t unloads)
{
    struct dw_library_use wanted;
    name_use(&wanted, module, maker);
    for (uint32_t i = 0; i < *count; i++)
        if (!strcmp(uses[i].name, wanted.name))
            return &uses[i];
    if (*count == DW_LIBRARIES)
        return &uses[DW_LIBRARIES - 1];
    if (wanted.kind == DW_ALLOC_JEMALLOC)
        ask(&wanted, module, unloads);
    uses[*count] = wanted;
    return &uses[(*count)++];
}

uint32_t dw_library_uses_find(struct dw_sample_natives *natives, const struct dw_mapping *mappings,
                              uint32_t count, struct dw_library_use uses[DW_LIBRARIES])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_mapping *mapping = &mappings[i];
        uint64_t caller = (uint64_t)(uintptr_t)mapping->of.caller;
        if (!caller || mapping->of.is_file)
            continue;
        const struct dw_native_module *module = dw_native_modules_find(&natives->modules, caller);
        size_t maker = module ? find_maker(natives, module, caller) : MAKERS;
        struct dw_library_use *use =
            find_use(uses, &found, module, maker, natives->modules.unloads);
        use->resident += dw_resident_bytes((void *)mapping->start, mapping->end - mapping->start);
    }
    return found;
}
