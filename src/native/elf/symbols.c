/* SPDX-License-Identifier: MIT
 * A million functions are 16 MB here: the entries are packed, and their names stay where the
 * linker put them. Of several names for one address the one that people know wins. */
#include "native/elf/symbols.h"

#include "base/intern.h"
#include "native/elf/debug_file.h"
#include "native/elf/symbol_names.h"

#include <unistd.h>

#define ADDRESS_BITS 48
#define READ_AT_ONCE 2048 /* symbols */
#define PLT_STUB_BYTES 16
/* How many functions may lie inside another before that one is no longer found. */
#define MAX_NESTED 64

enum table { TABLE_DYNAMIC, TABLE_FULL, TABLE_DEBUG, TABLE_COUNT };
#define IS_PLT 4u /* with the table that names what the stub calls */

/* Sorted by `key`: the address in its upper 48 bits, so that among equal ones the lower rank
 * is first; then the table. */
struct entry {
    uint64_t key;
    uint32_t size;
    uint32_t name; /* offset in the names of the table */
};

/* A name that had to be made or read, for the entry of that index. */
struct made_name {
    uint32_t entry;
    char *text; /* owned */
};

struct dw_symbols {
    struct entry *entries;
    uint32_t count, capacity;
    struct dw_symbol_names names[TABLE_COUNT];
    struct made_name *made;
    uint32_t made_count, made_capacity;
    struct dw_map made_index;
};

static uint64_t address_of(const struct entry *entry)
{
    return entry->key >> (64 - ADDRESS_BITS);
}

static uint32_t table_of(const struct entry *entry)
{
    return (uint32_t)(entry->key & 3);
}

static int add(struct dw_symbols *symbols, uint64_t address, uint64_t size, uint32_t rank,
               uint32_t table, uint32_t name)
{
    int error = DW_GROW(symbols->entries, symbols->count, symbols->capacity);
    if (error)
        return error;
    symbols->entries[symbols->count++] =
        (struct entry){.key = address << (64 - ADDRESS_BITS) | rank << 8 | table,
                       .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
                       .name = name};
    return 0;
}

/* Fewer underscores are better: malloc rather than __libc_malloc. */
static uint32_t count_underscores(const struct dw_symbol_names *names, uint32_t at)
{
    uint32_t count = 0;
    if (names->bytes && at < names->size && strncmp(names->bytes + at, "_Z", 2) != 0 &&
        strncmp(names->bytes + at, "_R", 2) != 0)
        while (count < 3 && names->bytes[at + count] == '_')
            count++;
    return count;
}

static uint32_t rank_of(const struct dw_symbol_names *names, const Elf64_Sym *symbol)
{
    uint32_t binding = ELF64_ST_BIND(symbol->st_info);
    return (symbol->st_size ? 0u : 64u) |
           (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 32u : 0u) |
           (binding == STB_LOCAL ? 16u : 0u) | count_underscores(names, symbol->st_name) << 1 |
           (binding == STB_WEAK ? 1u : 0u);
}

/* Labels in assembler code have no type; local ones are only places in a function. */
static bool may_be_function(const Elf64_Sym *symbol)
{
    uint32_t type = ELF64_ST_TYPE(symbol->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL);
}

/* The code section that the symbol names, if the symbol lies in it. */
static const Elf64_Shdr *section_of(const struct dw_elf *elf, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx >= elf->section_count)
        return NULL;
    const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
    bool is_inside = (section->sh_flags & SHF_EXECINSTR) && symbol->st_value >= section->sh_addr &&
                     symbol->st_value - section->sh_addr < section->sh_size;
    return is_inside && symbol->st_value < (uint64_t)1 << ADDRESS_BITS ? section : NULL;
}

static int add_symbol(struct dw_symbols *symbols, const struct dw_elf *elf, enum table table,
                      const Elf64_Sym *symbol)
{
    const struct dw_symbol_names *names = &symbols->names[table];
    if (!may_be_function(symbol) || !symbol->st_name || symbol->st_name >= names->size)
        return 0;
    const Elf64_Shdr *section = section_of(elf, symbol);
    if (!section)
        return 0;
    uint64_t room = section->sh_size - (symbol->st_value - section->sh_addr);
    uint64_t size = symbol->st_size && symbol->st_size < room ? symbol->st_size : room;
    return add(symbols, symbol->st_value, size, rank_of(names, symbol), table, symbol->st_name);
}

static int add_symbols(struct dw_symbols *symbols, const struct dw_elf *elf, enum table table,
                       const Elf64_Shdr *section)
{
    Elf64_Sym block[READ_AT_ONCE];
    uint64_t left = section->sh_size / sizeof *block;
    int error = 0;
    for (uint64_t at = section->sh_offset; left && !error;) {
        uint64_t count = left < READ_AT_ONCE ? left : READ_AT_ONCE;
        error = dw_elf_read(elf, at, block, count * sizeof *block);
        for (uint64_t i = 0; i < count && !error; i++)
            error = add_symbol(symbols, elf, table, &block[i]);
        at += count * sizeof *block;
        left -= count;
    }
    return error;
}

static const Elf64_Shdr *find_type(const struct dw_elf *elf, uint32_t type)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_type == type && elf->sections[i].sh_link < elf->section_count)
            return &elf->sections[i];
    return NULL;
}

/* A missing table is not an error. */
static int load_table(struct dw_symbols *symbols, const struct dw_elf *elf, enum table table)
{
    const Elf64_Shdr *section = find_type(elf, table == TABLE_DYNAMIC ? SHT_DYNSYM : SHT_SYMTAB);
    if (!section)
        return 0;
    int error = dw_symbol_names_open(elf, &elf->sections[section->sh_link], &symbols->names[table]);
    return error ? error : add_symbols(symbols, elf, table, section);
}

/* The first stub, when there is one for each relocation. The section for indirect branch
 * tracking has just these; the older one begins with a stub for the dynamic linker. */
static uint64_t find_stubs(const struct dw_elf *elf, uint64_t count)
{
    const Elf64_Shdr *newer = dw_elf_section(elf, ".plt.sec");
    const Elf64_Shdr *older = dw_elf_section(elf, ".plt");
    if (newer && newer->sh_size == count * PLT_STUB_BYTES)
        return newer->sh_addr;
    if (older && older->sh_size == (count + 1) * PLT_STUB_BYTES)
        return older->sh_addr + PLT_STUB_BYTES;
    return 0;
}

/* Adds a stub for each relocation. These name their symbols in any order, so all are there. */
static int add_stubs(struct dw_symbols *symbols, uint64_t stubs, const Elf64_Rela *relocations,
                     uint64_t count, const Elf64_Sym *dynamic, uint64_t dynamic_count)
{
    int error = 0;
    for (uint64_t i = 0; i < count && !error; i++) {
        uint64_t index = ELF64_R_SYM(relocations[i].r_info), address = stubs + i * PLT_STUB_BYTES;
        uint32_t name = index < dynamic_count ? dynamic[index].st_name : 0;
        if (name && !(address >> ADDRESS_BITS))
            error = add(symbols, address, PLT_STUB_BYTES, 0, TABLE_DYNAMIC | IS_PLT, name);
    }
    return error;
}

static int load_stubs(struct dw_symbols *symbols, const struct dw_elf *elf)
{
    const Elf64_Shdr *table = find_type(elf, SHT_DYNSYM);
    const Elf64_Shdr *section = dw_elf_section(elf, ".rela.plt");
    uint64_t count = section ? section->sh_size / sizeof(Elf64_Rela) : 0;
    uint64_t stubs = section ? find_stubs(elf, count) : 0;
    Elf64_Rela *relocations = NULL;
    Elf64_Sym *dynamic = NULL;
    if (!table || !stubs)
        return 0;
    int error = dw_elf_read_section(elf, section, &relocations);
    if (!error)
        error = dw_elf_read_section(elf, table, &dynamic);
    if (!error)
        error = add_stubs(symbols, stubs, relocations, count, dynamic,
                          table->sh_size / sizeof *dynamic);
    free(relocations);
    free(dynamic);
    return error;
}

/* A debug file adds what it has; what it lacks is not an error. */
static int load_debug_file(struct dw_symbols *symbols, const struct dw_elf *elf, const char *path)
{
    struct dw_elf debug;
    int fd = dw_debug_file_open(elf, path, NULL);
    if (fd < 0)
        return 0;
    int error = dw_elf_open(fd, &debug);
    if (!error) {
        error = load_table(symbols, &debug, TABLE_DEBUG);
        dw_elf_release(&debug);
    }
    close(fd);
    return error == DW_ERR_MEMORY ? error : 0;
}

static int load(struct dw_symbols *symbols, const struct dw_elf *elf, const char *path)
{
    int error = load_table(symbols, elf, TABLE_DYNAMIC);
    if (!error)
        error = load_table(symbols, elf, TABLE_FULL);
    if (!error)
        error = load_stubs(symbols, elf);
    if (!error && !find_type(elf, SHT_SYMTAB))
        error = load_debug_file(symbols, elf, path);
    return error;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct entry *)a)->key;
    uint64_t right = ((const struct entry *)b)->key;
    return (left > right) - (left < right);
}

/* Puts entries in the order of one byte of their keys; those that have the same stay as they are.
 */
static void sort_by_byte(const struct entry *entries, uint32_t count, unsigned shift,
                         struct entry *sorted)
{
    uint32_t starts[257] = {0};
    for (uint32_t i = 0; i < count; i++)
        starts[1 + (entries[i].key >> shift & 0xff)]++;
    for (unsigned i = 1; i < 256; i++)
        starts[i] += starts[i - 1];
    for (uint32_t i = 0; i < count; i++)
        sorted[starts[entries[i].key >> shift & 0xff]++] = entries[i];
}

/* Byte by byte, since hundreds of thousands take a tenth of the time that comparing them does.
 * Bytes that all have alike are passed over. */
static void sort_entries(struct dw_symbols *symbols)
{
    uint64_t differs = 0;
    struct entry *spare = malloc(symbols->count * sizeof *spare + 1);
    if (!spare) {
        qsort(symbols->entries, symbols->count, sizeof *symbols->entries, compare);
        return;
    }
    for (uint32_t i = 0; i < symbols->count; i++)
        differs |= symbols->entries[i].key ^ symbols->entries[0].key;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differs >> shift & 0xff))
            continue;
        struct entry *sorted = spare;
        sort_by_byte(symbols->entries, symbols->count, shift, sorted);
        spare = symbols->entries;
        symbols->entries = sorted;
    }
    free(spare);
    symbols->capacity = symbols->count;
}

static bool is_sized(const struct entry *entry)
{
    return !(entry->key >> 8 & 64u);
}

/* Drops all but the best name of an address, and labels inside functions that have a size. It also
 * drops labels without a known end, because the function after them may have lost its name. */
static void drop_worse(struct dw_symbols *symbols)
{
    bool is_stripped = !symbols->names[TABLE_FULL].size && !symbols->names[TABLE_DEBUG].size;
    uint32_t kept = 0;
    uint64_t sized_end = 0;
    for (uint32_t i = 0; i < symbols->count; i++) {
        const struct entry *entry = &symbols->entries[i];
        uint64_t address = address_of(entry);
        if (kept && address_of(&symbols->entries[kept - 1]) == address)
            continue;
        if (!is_sized(entry) && (is_stripped || address < sized_end))
            continue;
        if (is_sized(entry) && address + entry->size > sized_end)
            sized_end = address + entry->size;
        symbols->entries[kept++] = *entry;
    }
    symbols->count = kept;
}

/* A function of no size ends where the next one begins. */
static void end_unsized(struct dw_symbols *symbols)
{
    for (uint32_t i = 0; i + 1 < symbols->count; i++) {
        struct entry *entry = &symbols->entries[i];
        uint64_t room = address_of(entry + 1) - address_of(entry);
        if (!is_sized(entry) && entry->size > room)
            entry->size = (uint32_t)room;
    }
}

static void tidy(struct dw_symbols *symbols)
{
    if (symbols->count)
        sort_entries(symbols);
    drop_worse(symbols);
    end_unsized(symbols);
    if (!symbols->count)
        return;
    struct entry *shrunk = realloc(symbols->entries, symbols->count * sizeof *symbols->entries);
    if (shrunk) {
        symbols->entries = shrunk;
        symbols->capacity = symbols->count;
    }
}

int dw_symbols_open(int fd, const char *path, const uint8_t *build_id, size_t build_id_size,
                    struct dw_symbols **symbols)
{
    struct dw_elf elf;
    int error = dw_elf_open(fd, &elf);
    if (error)
        return error;
    struct dw_symbols *opened = calloc(1, sizeof *opened);
    for (int i = 0; opened && i < TABLE_COUNT; i++)
        opened->names[i].fd = -1;
    if (!opened)
        error = DW_ERR_MEMORY;
    else if (build_id_size && !dw_elf_has_build_id(&elf, build_id, build_id_size))
        error = DW_ERR_STALE;
    else
        error = load(opened, &elf, path);
    dw_elf_release(&elf);
    if (error) {
        dw_symbols_close(opened);
        return error;
    }
    tidy(opened);
    *symbols = opened;
    return 0;
}

void dw_symbols_close(struct dw_symbols *symbols)
{
    if (!symbols)
        return;
    for (int i = 0; i < TABLE_COUNT; i++)
        dw_symbol_names_release(&symbols->names[i]);
    for (uint32_t i = 0; i < symbols->made_count; i++)
        free(symbols->made[i].text);
    free(symbols->made);
    dw_map_release(&symbols->made_index);
    free(symbols->entries);
    free(symbols);
}

/* The name of entry `index`, kept so that it stays valid. */
static const char *make_name(struct dw_symbols *symbols, uint32_t index)
{
    const struct entry *entry = &symbols->entries[index];
    uint32_t found = DW_INTERN_FIND(symbols->made, symbols->made_index, sizeof index, &index);
    if (found != DW_MAP_NONE)
        return symbols->made[found].text;
    char *text = dw_symbol_name_copy(&symbols->names[table_of(entry)], entry->name,
                                     entry->key & IS_PLT ? "@plt" : "");
    if (text &&
        DW_INTERN(symbols->made, symbols->made_count, symbols->made_capacity, symbols->made_index,
                  sizeof index, (&(struct made_name){index, text}), &found)) {
        free(text);
        return NULL;
    }
    return text;
}

static const char *name_of(struct dw_symbols *symbols, uint32_t index)
{
    const struct entry *entry = &symbols->entries[index];
    const struct dw_symbol_names *names = &symbols->names[table_of(entry)];
    if (!names->bytes || (entry->key & IS_PLT))
        return make_name(symbols, index);
    const char *name = names->bytes + entry->name;
    return *name ? name : NULL;
}

/* How many begin at the address or before. */
static uint32_t count_before(const struct dw_symbols *symbols, uint64_t address)
{
    uint32_t low = 0, high = symbols->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (address_of(&symbols->entries[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dw_symbols_find(struct dw_symbols *symbols, uint64_t address, struct dw_symbol *symbol)
{
    uint32_t before = count_before(symbols, address);
    for (uint32_t i = before; i > 0 && before - i < MAX_NESTED; i--) {
        const struct entry *entry = &symbols->entries[i - 1];
        if (address - address_of(entry) >= entry->size)
            continue;
        const char *name = name_of(symbols, i - 1);
        if (name)
            *symbol = (struct dw_symbol){name, address_of(entry), entry->size};
        return name != NULL;
    }
    return false;
}
