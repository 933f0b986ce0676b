/* SPDX-License-Identifier: MIT
 * A pointer is changed only if it is what the dynamic linker would put there, so an object that
 * has an allocator of its own keeps it. A pointer is written at once, so other threads see the old
 * or the new one. */
#include "native/elf/got_patch.h"

#include "base/grow.h"
#include "native/elf/elf_file.h"
#include "native/elf/proc_maps.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A symbol that the program refers to by address may have an entry of the program's own, which
 * leads back to the pointer. */
static bool is_of_program(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) && map && !map->l_name[0];
}

static void *find_in_libc(const char *name)
{
    void *libc = getenv("LD_PRELOAD") ? NULL : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *found = libc ? dlsym(libc, name) : NULL;
    if (libc)
        dlclose(libc);
    return found && !is_of_program(found) ? found : NULL;
}

bool dw_got_find(struct dw_got_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++) {
        struct dw_got_hook *hook = &patch->hooks[i];
        if (hook->object)
            continue;
        hook->original = dlsym(RTLD_DEFAULT, hook->name);
        if (hook->original && is_of_program(hook->original) &&
            !(hook->original = find_in_libc(hook->name)))
            return false;
    }
    return true;
}

struct object {
    uintptr_t base, start, end;
    bool is_loader;
    uintptr_t relro_start, relro_end;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;
    const ElfW(Rela) * relocations[2];
    size_t counts[2];
};

struct applying {
    struct dw_got_patch *patch;
    bool is_on;
    bool is_complete; /* nothing is left for later */
    bool reads_list;  /* of mappings, to know what is read-only */
    struct range {
        uintptr_t start, end;
    } * read_only;
    uint32_t count, capacity;
};

static uintptr_t page_of(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static int add_read_only(void *context, const struct dw_map_line *line)
{
    struct applying *applying = context;
    if (line->is_writable || !*line->path)
        return 0;
    int error = DW_GROW(applying->read_only, applying->count, applying->capacity);
    if (!error)
        applying->read_only[applying->count++] = (struct range){line->start, line->end};
    return error;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The kernel makes a page ready to be written, which it refuses where nobody may write. The page
 * was written before, so that nothing changes. */
static bool is_writable(uintptr_t page)
{
    return !madvise((void *)page, (size_t)sysconf(_SC_PAGESIZE), MADV_POPULATE_WRITE);
}

/* Kernels before 5.14 refuse it everywhere. Then the list of all mappings has to be read. */
static bool tells_writable(void)
{
    static _Atomic int written; /* somewhere in memory that may be */
    atomic_store(&written, 1);
    return is_writable(page_of((uintptr_t)&written));
}

/* The linker makes some pages read-only when it has filled in all pointers of an object. Before
 * that nothing may be changed: it would write to a page that is read-only again, or take a change
 * back. */
static bool is_filled_in(const struct object *object, const struct applying *applying)
{
    uintptr_t page = page_of(object->relro_start);
    if (page >= page_of(object->relro_end))
        return true;
    if (!applying->reads_list)
        return !is_writable(page);
    for (uint32_t i = 0; i < applying->count; i++)
        if (page >= applying->read_only[i].start && page < applying->read_only[i].end)
            return true;
    return false;
}

static bool holds(const struct object *object, const void *address)
{
    return (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
}

/* The linker of the C library writes addresses into the list, others leave offsets. */
static uintptr_t address_of(const struct object *object, uintptr_t value)
{
    return value < object->base ? object->base + value : value;
}

static void read_dynamic(struct object *object, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = address_of(object, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: object->symbols = (const ElfW(Sym) *)address; break;
        case DT_STRTAB: object->strings = (const char *)address; break;
        case DT_GNU_HASH: object->hash = (const uint32_t *)address; break;
        case DT_RELA: object->relocations[0] = (const ElfW(Rela) *)address; break;
        case DT_RELASZ: object->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_JMPREL: object->relocations[1] = (const ElfW(Rela) *)address; break;
        case DT_PLTRELSZ: object->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        default: break;
        }
    }
}

static void read_object(const struct dl_phdr_info *info, struct object *object)
{
    const ElfW(Dyn) *dynamic = NULL;
    *object = (struct object){.base = info->dlpi_addr, .start = UINTPTR_MAX};
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)start;
        if (part->p_type == PT_GNU_RELRO) {
            object->relro_start = start;
            object->relro_end = end;
        }
        if (part->p_type != PT_LOAD)
            continue;
        object->start = start < object->start ? start : object->start;
        object->end = end > object->end ? end : object->end;
    }
    if (dynamic)
        read_dynamic(object, dynamic);
}

static bool is_loader(const struct object *object, const char *name,
                      const struct dw_got_patch *patch)
{
    for (size_t i = 0; i < sizeof patch->loaders / sizeof *patch->loaders; i++)
        if (patch->loaders[i] && name && strstr(name, patch->loaders[i]))
            return true;
    return holds(object, patch->loader);
}

static bool is_spared(const struct object *object, const struct dw_got_patch *patch)
{
    for (size_t i = 0; i < sizeof patch->spared / sizeof *patch->spared; i++)
        if (patch->spared[i] && holds(object, patch->spared[i]))
            return true;
    return false;
}

/* Whether a library calls one of the functions. Those of others come first among its symbols: the
 * second word of the hash table says where its own begin, if it has any. Large libraries have a
 * thousand times as many relocations. */
static bool needs_patch(const struct object *object, const struct dw_got_patch *patch)
{
    uint32_t own = object->hash ? object->hash[1] : 0;
    for (size_t i = 0; i < patch->count; i++)
        if (patch->hooks[i].object)
            return true;
    for (uint32_t at = 1; at < own; at++)
        for (size_t i = 0; i < patch->count; i++)
            if (!strcmp(object->strings + object->symbols[at].st_name, patch->hooks[i].name))
                return true;
    return own < 2;
}

/* What was read-only becomes so again. */
static void set_pointer(const struct object *object, void *_Atomic *at, void *value)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = page_of((uintptr_t)at);
    bool is_guarded = (uintptr_t)at >= object->relro_start && (uintptr_t)at < object->relro_end;
    if (is_guarded && mprotect((void *)page, size, PROT_READ | PROT_WRITE))
        return;
    atomic_store(at, value);
    if (is_guarded)
        mprotect((void *)page, size, PROT_READ);
}

/* A pointer that is not filled in yet leads into the object itself. */
static void change_pointer(const struct object *object, const struct dw_got_hook *hook,
                           void *_Atomic *at, bool is_on)
{
    void *now = atomic_load(at);
    bool is_free = now == hook->original || holds(object, now);
    if (is_on && is_free)
        set_pointer(object, at, hook->hook);
    else if (!is_on && now == hook->hook)
        set_pointer(object, at, hook->original);
}

static bool is_pointer(const ElfW(Rela) * relocation)
{
    uint64_t type = ELF64_R_TYPE(relocation->r_info);
    return (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64) &&
           !relocation->r_addend;
}

/* A pointer of an object to a function of its own. */
static void patch_table(const struct object *object, const ElfW(Rela) * relocation,
                        const struct applying *applying)
{
    const struct dw_got_patch *patch = applying->patch;
    uintptr_t value = object->base + (uintptr_t)relocation->r_addend;
    uintptr_t slot = object->base + relocation->r_offset;
    for (size_t i = 0; i < patch->count; i++) {
        const struct dw_got_hook *hook = &patch->hooks[i];
        void *_Atomic *at = (void *_Atomic *)slot;
        if (!hook->object || hook->base != object->base || (uintptr_t)hook->original != value)
            continue;
        if (atomic_load(at) == (applying->is_on ? hook->original : hook->hook))
            set_pointer(object, at, applying->is_on ? hook->hook : hook->original);
    }
}

static void patch_relocation(const struct object *object, const ElfW(Rela) * relocation,
                             const struct applying *applying)
{
    const struct dw_got_patch *patch = applying->patch;
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    if (ELF64_R_TYPE(relocation->r_info) == R_X86_64_RELATIVE) {
        patch_table(object, relocation, applying);
        return;
    }
    if (!is_pointer(relocation) || symbol->st_shndx != SHN_UNDEF)
        return;
    const char *name = object->strings + symbol->st_name;
    for (size_t i = 0; i < patch->count; i++) {
        const struct dw_got_hook *hook = &patch->hooks[i];
        if (!hook->original || hook->object || strcmp(hook->name, name) != 0 ||
            (hook->is_loaders && !object->is_loader))
            continue;
        uintptr_t slot = object->base + relocation->r_offset;
        change_pointer(object, hook, (void *_Atomic *)slot, applying->is_on);
    }
}

/* The functions that an object has for itself, by the names in its file. */
static int find_by_name(const char *path, struct dw_got_patch *patch, uint64_t *addresses)
{
    const char *names[DW_GOT_HOOKS_MAX];
    struct dw_elf elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? DW_ERR_IO : dw_elf_open(fd, &elf);
    for (size_t i = 0; i < patch->count; i++)
        names[i] = patch->hooks[i].name;
    if (!error) {
        error = dw_elf_find_symbols(&elf, patch->count, names, addresses);
        dw_elf_release(&elf);
    }
    if (fd >= 0)
        close(fd);
    return error;
}

static void find_own_functions(struct dw_got_patch *patch, const char *path, uintptr_t base)
{
    uint64_t addresses[DW_GOT_HOOKS_MAX] = {0};
    bool is_looked_at = false;
    for (size_t i = 0; i < patch->count; i++) {
        struct dw_got_hook *hook = &patch->hooks[i];
        if (!hook->object || !path || !strstr(path, hook->object) ||
            (hook->base && hook->base != base))
            continue;
        if (!is_looked_at && find_by_name(path, patch, addresses))
            return;
        is_looked_at = true;
        hook->base = base;
        hook->original = addresses[i] ? (void *)(base + addresses[i]) : NULL;
    }
}

/* Whether the object was patched before. */
static bool was_seen(struct dw_got_patch *patch, const struct dl_phdr_info *info)
{
    uintptr_t place = (uintptr_t)info->dlpi_phdr;
    if (patch->unloads != info->dlpi_subs)
        patch->seen_count = 0;
    patch->unloads = info->dlpi_subs;
    for (uint32_t i = 0; i < patch->seen_count; i++)
        if (patch->seen[i] == place)
            return true;
    return false;
}

static void note_seen(struct dw_got_patch *patch, const struct dl_phdr_info *info)
{
    if (!DW_GROW(patch->seen, patch->seen_count, patch->seen_capacity))
        patch->seen[patch->seen_count++] = (uintptr_t)info->dlpi_phdr;
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct applying *applying = context;
    struct object object;
    (void)size;
    if (applying->is_on && was_seen(applying->patch, info))
        return 0;
    read_object(info, &object);
    if (applying->is_on && !is_filled_in(&object, applying)) {
        applying->is_complete = false;
        return 0;
    }
    if (applying->is_on)
        note_seen(applying->patch, info);
    object.is_loader = is_loader(&object, info->dlpi_name, applying->patch);
    if (!object.symbols || !object.strings ||
        is_spared(&object, applying->patch) != applying->patch->is_for_spared)
        return 0;
    bool is_library = info->dlpi_name && info->dlpi_name[0];
    if (is_library && !needs_patch(&object, applying->patch))
        return 0;
    if (applying->is_on)
        find_own_functions(applying->patch, info->dlpi_name, object.base);
    for (int list = 0; list < 2; list++)
        for (size_t i = 0; object.relocations[list] && i < object.counts[list]; i++)
            patch_relocation(&object, &object.relocations[list][i], applying);
    return 0;
}

bool dw_got_apply(struct dw_got_patch *patch, bool is_on)
{
    struct applying applying = {.patch = patch, .is_on = is_on, .is_complete = true};
    applying.reads_list = !tells_writable();
    if (is_on && applying.reads_list && dw_maps_each(getpid(), add_read_only, &applying))
        applying.is_complete = false;
    dl_iterate_phdr(patch_object, &applying);
    free(applying.read_only);
    if (!is_on)
        patch->seen_count = 0;
    return applying.is_complete;
}
