/* SPDX-License-Identifier: MIT
 * An object is known by its address, size and a digest, and is read once. Unwind information of
 * objects that are gone is retired and not freed: a handler may be reading it. */
#include "native/jit/jit_lists.h"

#include "base/grow.h"
#include "base/map.h"

#include <string.h>

#define VARIABLE "__jit_debug_descriptor"
#define VERSION 1
#define READ_AT_ONCE 2048        /* symbols */
#define DIGEST_BYTES (32u << 10) /* at either end: the tables are at the ends */
#define MAX_BYTES_AT_ONCE (256u << 20)

/* As in the process. */
struct link {
    uint64_t next, previous, address, size;
};

struct dw_jit_known {
    uint64_t address, size, digest;
    bool is_listed;
    struct dw_jit_object object;
};

static bool has_name(const struct dw_elf *elf, const Elf64_Shdr *names, uint32_t offset)
{
    char name[sizeof VARIABLE];
    return offset < names->sh_size && names->sh_size - offset >= sizeof name &&
           !dw_elf_read(elf, names->sh_offset + offset, name, sizeof name) &&
           !memcmp(name, VARIABLE, sizeof name);
}

/* What C++ says of its types has the same size, and there are many thousands of these in large
 * libraries; but nobody writes to them. */
static bool may_be_variable(const Elf64_Sym *symbol, uint64_t constants)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size == sizeof(struct dw_jit_head) && symbol->st_shndx != constants;
}

/* Tables of large libraries have a hundred megabytes of names, so names are read one by one. */
static bool search_table(const struct dw_elf *elf, const Elf64_Shdr *table, uint64_t *address)
{
    Elf64_Sym block[READ_AT_ONCE];
    uint64_t left = table->sh_size / sizeof *block, at = table->sh_offset;
    uint32_t other = 0; /* a name that many symbols may share, as in libraries for GPUs */
    const Elf64_Shdr *section = dw_elf_section(elf, ".data.rel.ro");
    uint64_t constants = section ? (uint64_t)(section - elf->sections) : SHN_UNDEF;
    if (table->sh_link >= elf->section_count)
        return false;
    while (left) {
        uint64_t count = left < READ_AT_ONCE ? left : READ_AT_ONCE;
        if (dw_elf_read(elf, at, block, count * sizeof *block))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            if (!may_be_variable(&block[i], constants) || block[i].st_name == other)
                continue;
            if (has_name(elf, &elf->sections[table->sh_link], block[i].st_name)) {
                *address = block[i].st_value;
                return true;
            }
            other = block[i].st_name;
        }
        at += count * sizeof *block;
        left -= count;
    }
    return false;
}

bool dw_jit_list_search(const struct dw_elf *elf, uint64_t *address)
{
    for (uint32_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if ((section->sh_type == SHT_DYNSYM || section->sh_type == SHT_SYMTAB) &&
            search_table(elf, section, address))
            return true;
    }
    return false;
}

void dw_jit_lists_add(struct dw_jit_lists *lists, uint64_t address)
{
    for (uint32_t i = 0; i < lists->list_count; i++)
        if (lists->lists[i].address == address)
            return;
    if (lists->list_count < DW_JIT_LISTS_MAX)
        lists->lists[lists->list_count++] = (struct dw_jit_list){.address = address};
}

static bool read_head(const struct dw_memory *memory, const struct dw_jit_list *list,
                      struct dw_jit_head *head)
{
    return memory->read(memory->context, list->address, head, sizeof *head) &&
           head->version == VERSION;
}

int dw_jit_lists_retire(struct dw_jit_lists *lists, uint8_t *bytes)
{
    int error = bytes ? DW_GROW(lists->retired, lists->retired_count, lists->retired_capacity) : 0;
    if (bytes && !error)
        lists->retired[lists->retired_count++] = bytes;
    return error;
}

static int retire_object(struct dw_jit_lists *lists, struct dw_jit_object *object)
{
    int error = dw_jit_lists_retire(lists, object->unwinding.bytes);
    if (error)
        return error;
    object->unwinding.bytes = NULL;
    dw_jit_object_release(object);
    return 0;
}

static bool digest_part(const struct dw_memory *memory, uint64_t address, size_t size,
                        uint64_t *digest)
{
    uint8_t *bytes = malloc(size);
    bool done = bytes && memory->read(memory->context, address, bytes, size);
    if (done)
        *digest = dw_hash_mix(*digest ^ dw_hash_bytes(bytes, size));
    free(bytes);
    return done;
}

static bool is_object(const struct link *link)
{
    return link->address && link->size >= sizeof(Elf64_Ehdr) && link->size <= DW_JIT_OBJECT_MAX;
}

/* The digest tells an object from another one that is in the same place later. */
static bool digest_of(const struct dw_memory *memory, const struct link *link, uint64_t *digest)
{
    *digest = link->size;
    if (link->size <= 2 * DIGEST_BYTES)
        return digest_part(memory, link->address, link->size, digest);
    return digest_part(memory, link->address, DIGEST_BYTES, digest) &&
           digest_part(memory, link->address + link->size - DIGEST_BYTES, DIGEST_BYTES, digest);
}

/* The next entry may use the memory of one that was withdrawn: their objects differ. */
static uint64_t digest_first(const struct dw_memory *memory, const struct dw_jit_head *head)
{
    struct link link;
    uint64_t digest;
    bool is_read = head->first && memory->read(memory->context, head->first, &link, sizeof link) &&
                   is_object(&link) && digest_of(memory, &link, &digest);
    return is_read ? digest : 0;
}

bool dw_jit_lists_have_news(const struct dw_jit_lists *lists, const struct dw_memory *memory)
{
    struct dw_jit_head head;
    for (uint32_t i = 0; i < lists->list_count; i++) {
        const struct dw_jit_list *list = &lists->lists[i];
        if (!read_head(memory, list, &head))
            head = (struct dw_jit_head){0};
        if (memcmp(&head, &list->head, sizeof head) != 0 ||
            digest_first(memory, &head) != list->digest)
            return true;
    }
    return false;
}

static struct dw_jit_known *find_known(const struct dw_jit_lists *lists, const struct link *link,
                                       uint64_t digest)
{
    for (uint32_t i = 0; i < lists->count; i++) {
        struct dw_jit_known *known = &lists->known[i];
        if (known->address == link->address && known->size == link->size && known->digest == digest)
            return known;
    }
    return NULL;
}

static int add_object(struct dw_jit_lists *lists, const struct dw_memory *memory,
                      const struct link *link, uint64_t digest)
{
    int error = DW_GROW(lists->known, lists->count, lists->capacity);
    uint8_t *bytes = error ? NULL : malloc(link->size);
    if (!bytes)
        return DW_ERR_MEMORY;
    struct dw_jit_known known = {link->address, link->size, digest, true, {.code_count = 0}};
    if (memory->read(memory->context, link->address, bytes, link->size))
        error = dw_jit_object_read(bytes, link->size, memory, &known.object);
    free(bytes);
    if (error != DW_ERR_MEMORY) /* one that cannot be read is not tried again */
        lists->known[lists->count++] = known;
    return error == DW_ERR_MEMORY ? error : 0;
}

static int see_link(struct dw_jit_lists *lists, const struct dw_memory *memory,
                    const struct link *link, bool *changed)
{
    uint64_t digest;
    if (!is_object(link) || !digest_of(memory, link, &digest))
        return 0;
    struct dw_jit_known *known = find_known(lists, link, digest);
    if (known) {
        known->is_listed = true;
        return 0;
    }
    *changed = true;
    return add_object(lists, memory, link, digest);
}

/* DW_JIT_OBJECTS_MAX ends a list that runs in a circle. */
static int read_list(struct dw_jit_lists *lists, const struct dw_memory *memory,
                     struct dw_jit_list *list, bool *changed)
{
    struct link link;
    struct dw_jit_head head = {0};
    uint64_t bytes = 0;
    int error = 0;
    bool is_there = read_head(memory, list, &head);
    list->head = is_there ? head : (struct dw_jit_head){0};
    list->digest = digest_first(memory, &list->head);
    uint64_t at = list->head.first;
    for (uint32_t i = 0; at && !error && i < DW_JIT_OBJECTS_MAX; i++, at = link.next) {
        if (!memory->read(memory->context, at, &link, sizeof link) ||
            lists->count >= DW_JIT_OBJECTS_MAX || bytes > MAX_BYTES_AT_ONCE || link.next == at)
            break;
        bytes += link.size < DW_JIT_OBJECT_MAX ? link.size : 0;
        error = see_link(lists, memory, &link, changed);
    }
    return error;
}

static int drop_unlisted(struct dw_jit_lists *lists, bool *changed)
{
    uint32_t kept = 0;
    int error = 0;
    for (uint32_t i = 0; i < lists->count; i++) {
        struct dw_jit_known *known = &lists->known[i];
        if (!known->is_listed && !(error = retire_object(lists, &known->object))) {
            *changed = true;
            continue;
        }
        lists->known[kept++] = *known;
    }
    lists->count = kept;
    return error;
}

int dw_jit_lists_read(struct dw_jit_lists *lists, const struct dw_memory *memory, bool *changed)
{
    int error = 0;
    for (uint32_t i = 0; i < lists->count; i++)
        lists->known[i].is_listed = false;
    for (uint32_t i = 0; i < lists->list_count && !error; i++)
        error = read_list(lists, memory, &lists->lists[i], changed);
    return error ? error : drop_unlisted(lists, changed);
}

/* Searches from the end, where the newest objects are. */
const struct dw_jit_name *dw_jit_lists_find(struct dw_jit_lists *lists, uint64_t address,
                                            const struct dw_jit_names **of)
{
    for (uint32_t i = lists->count; i-- > 0;) {
        struct dw_jit_names *names = &lists->known[i].object.names;
        const struct dw_jit_name *name = dw_jit_names_find(names, address);
        *of = names;
        if (name)
            return name;
    }
    return NULL;
}

const struct dw_jit_object *dw_jit_lists_object(const struct dw_jit_lists *lists, uint32_t index)
{
    return index < lists->count ? &lists->known[index].object : NULL;
}

void dw_jit_lists_reap(struct dw_jit_lists *lists)
{
    for (uint32_t i = 0; i < lists->retired_count; i++)
        free(lists->retired[i]);
    lists->retired_count = 0;
}

void dw_jit_lists_release(struct dw_jit_lists *lists)
{
    dw_jit_lists_reap(lists);
    for (uint32_t i = 0; i < lists->count; i++)
        dw_jit_object_release(&lists->known[i].object);
    free(lists->known);
    free(lists->retired);
    *lists = (struct dw_jit_lists){0};
}
