/* SPDX-License-Identifier: MIT
 * Units are found by a table of their ranges, because not all compilers write one; the
 * functions of a unit by a table that is made when the first of them is asked for. */
#include "native/debug/dwarf_lines.h"

#include "base/grow.h"
#include "native/debug/dwarf_scopes.h"
#include "native/elf/debug_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <unistd.h>

/* How many spans may lie inside another before that one is no longer found. */
#define MAX_NESTED 64
#define MAX_DEPTH 64

/* Addresses that belong to the unit or function of that index. */
struct span {
    uint64_t start, end;
    uint32_t index;
};

struct spans {
    struct span *spans; /* by start */
    uint32_t count, capacity;
};

struct unit {
    Dwarf_Die lines; /* has the table of lines */
    Dwarf_Die code;  /* has the functions: the same, or in a file of its own (.dwo) */
    Dwarf_Half version;
    bool is_read;
    struct spans spans;
    Dwarf_Die *functions;
    uint32_t count, capacity;
    struct dw_dwarf_scopes scopes;
};

struct dw_dwarf {
    int fd;
    Dwarf *dwarf;
    struct spans spans;
    struct unit *units;
    uint32_t count, capacity;
};

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct span *)a)->start, right = ((const struct span *)b)->start;
    return (left > right) - (left < right);
}

static void sort(struct spans *spans)
{
    if (spans->count)
        qsort(spans->spans, spans->count, sizeof *spans->spans, compare);
}

/* UINT32_MAX when there is none. */
static uint32_t find(const struct spans *spans, uint64_t address)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans->spans[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i > 0 && low - i < MAX_NESTED; i--)
        if (address < spans->spans[i - 1].end)
            return spans->spans[i - 1].index;
    return UINT32_MAX;
}

/* Code that the linker threw away is said to be at 0 or 1. */
static int add_ranges(struct spans *spans, Dwarf_Die *die, uint32_t index)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        if (start <= 1 || start >= end)
            continue;
        int error = DW_GROW(spans->spans, spans->count, spans->capacity);
        if (error)
            return error;
        spans->spans[spans->count++] = (struct span){start, end, index};
    }
    return 0;
}

static int read_units(struct dw_dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    Dwarf_Half version;
    uint8_t type;
    while (!dwarf_get_units(dwarf->dwarf, cu, &cu, &version, &type, &die, &split)) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        int error = DW_GROW(dwarf->units, dwarf->count, dwarf->capacity);
        if (!error)
            error = add_ranges(&dwarf->spans, &die, dwarf->count);
        if (error)
            return error;
        bool is_split = type == DW_UT_skeleton && split.cu;
        dwarf->units[dwarf->count++] =
            (struct unit){.lines = die, .code = is_split ? split : die, .version = version};
    }
    sort(&dwarf->spans);
    return 0;
}

static bool is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type || tag == DW_TAG_subprogram;
}

static int read_function(struct unit *unit, Dwarf_Die *die)
{
    if (dwarf_hasattr(die, DW_AT_declaration) ||
        (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges)))
        return 0;
    int error = DW_GROW(unit->functions, unit->count, unit->capacity);
    if (!error)
        error = add_ranges(&unit->spans, die, unit->count);
    if (!error)
        unit->functions[unit->count++] = *die;
    return error;
}

static int read_functions(struct unit *unit, Dwarf_Die *parent, dw_scope_id scope, int depth);

/* Functions may be inside others: local classes, lambdas, and functions of Fortran. */
static int read_scope(struct unit *unit, Dwarf_Die *die, dw_scope_id scope, int depth)
{
    bool is_block = dwarf_tag(die) == DW_TAG_lexical_block;
    int error = 0;
    if (!dwarf_haschildren(die))
        return 0;
    if (!is_block)
        error = dw_dwarf_scope_add(&unit->scopes, scope, die, &scope);
    return error ? error : read_functions(unit, die, scope, depth + 1);
}

static int read_functions(struct unit *unit, Dwarf_Die *parent, dw_scope_id scope, int depth)
{
    Dwarf_Die die;
    int error = 0;
    if (depth > MAX_DEPTH || dwarf_child(parent, &die))
        return 0;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram) {
            error = read_function(unit, &die);
            if (!error)
                error = dw_dwarf_scopes_put(&unit->scopes, scope, &die);
        }
        if (!error && (is_scope(tag) || tag == DW_TAG_lexical_block))
            error = read_scope(unit, &die, scope, depth);
    } while (!error && !dwarf_siblingof(&die, &die));
    return error;
}

static bool find_function(struct unit *unit, uint64_t address, Dwarf_Die *function)
{
    if (!unit->is_read) {
        unit->is_read = true;
        if (read_functions(unit, &unit->code, 0, 0))
            unit->spans.count = 0;
        sort(&unit->spans);
    }
    uint32_t index = find(&unit->spans, address);
    if (index == UINT32_MAX)
        return false;
    *function = unit->functions[index];
    return true;
}

/* The child that holds the address, of those that code was inlined or put into. */
static bool enter(Dwarf_Die *parent, uint64_t address, Dwarf_Die *child)
{
    if (dwarf_child(parent, child))
        return false;
    do {
        int tag = dwarf_tag(child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
            dwarf_haspc(child, address) == 1)
            return true;
    } while (!dwarf_siblingof(child, child));
    return false;
}

/* The function and what was inlined into it at the address, outermost first. */
static uint32_t find_inlined(const Dwarf_Die *function, uint64_t address,
                             Dwarf_Die chain[DW_INLINED_MAX])
{
    Dwarf_Die at = *function, child;
    uint32_t count = 0;
    chain[count++] = at;
    for (int depth = 0; depth < 4 * DW_INLINED_MAX && enter(&at, address, &child); depth++) {
        at = child;
        if (dwarf_tag(&at) != DW_TAG_inlined_subroutine)
            continue;
        if (count == DW_INLINED_MAX)
            break;
        chain[count++] = at;
    }
    return count;
}

static bool read_number(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) && !dwarf_formudata(&attribute, number);
}

/* Files count from 1 on before version 5, and from 0 on since. */
static const char *file_of(struct unit *unit, uint64_t index)
{
    Dwarf_Files *files;
    size_t count;
    if ((!index && unit->version < 5) || dwarf_getsrcfiles(&unit->code, &files, &count) ||
        index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

/* Where the inlined function was called. */
static void read_call(struct unit *unit, Dwarf_Die *inlined, struct dw_source_line *line)
{
    uint64_t file, number;
    if (!read_number(inlined, DW_AT_call_line, &number) || !number || number > UINT32_MAX)
        return;
    line->line = (uint32_t)number;
    if (read_number(inlined, DW_AT_call_file, &file))
        line->file = file_of(unit, file);
}

/* libdw takes file 0 for no file. A declaration may be in another unit, which libdw follows. */
static const char *declared_in(struct unit *unit, Dwarf_Die *function)
{
    uint64_t file;
    bool is_first = read_number(function, DW_AT_decl_file, &file) && !file;
    return is_first ? file_of(unit, 0) : dwarf_decl_file(function);
}

static void read_line(struct unit *unit, uint64_t address, struct dw_source_line *line)
{
    Dwarf_Line *found = dwarf_getsrc_die(&unit->lines, address);
    int number;
    if (!found || dwarf_lineno(found, &number) || number <= 0)
        return;
    line->line = (uint32_t)number;
    line->file = dwarf_linesrc(found, NULL, NULL);
}

/* Called after its line was read: the file may differ when code was included. */
static void read_function_of(struct unit *unit, Dwarf_Die *die, struct dw_source_line *line)
{
    int number;
    const char *file = declared_in(unit, die);
    line->function = dw_dwarf_scopes_name(&unit->scopes, die);
    if (!line->file)
        line->file = file;
    if (file && line->file && !strcmp(file, line->file) && !dwarf_decl_line(die, &number) &&
        number > 0)
        line->first_line = (uint32_t)number;
}

uint32_t dw_dwarf_find(struct dw_dwarf *dwarf, uint64_t address,
                       struct dw_source_line lines[DW_INLINED_MAX])
{
    Dwarf_Die function, chain[DW_INLINED_MAX];
    uint32_t index = find(&dwarf->spans, address);
    if (index == UINT32_MAX)
        return 0;
    struct unit *unit = &dwarf->units[index];
    lines[0] = (struct dw_source_line){0};
    read_line(unit, address, &lines[0]);
    if (!find_function(unit, address, &function))
        return lines[0].line > 0;
    uint32_t count = find_inlined(&function, address, chain);
    for (uint32_t i = 0; i < count; i++) {
        Dwarf_Die *die = &chain[count - 1 - i];
        if (i + 1 < count) {
            lines[i + 1] = (struct dw_source_line){0};
            read_call(unit, die, &lines[i + 1]);
        }
        read_function_of(unit, die, &lines[i]);
    }
    return count;
}

static bool has_debug_information(const struct dw_elf *elf)
{
    const Elf64_Shdr *section = dw_elf_section(elf, ".debug_info");
    section = section ? section : dw_elf_section(elf, ".zdebug_info");
    return section && section->sh_type != SHT_NOBITS;
}

int dw_dwarf_open(const struct dw_elf *elf, const char *path, const char *directories,
                  struct dw_dwarf **dwarf)
{
    int fd = has_debug_information(elf) ? dup(elf->fd) : dw_debug_file_open(elf, path, directories);
    if (fd < 0)
        return DW_ERR_EMPTY;
    struct dw_dwarf *opened = calloc(1, sizeof *opened);
    if (!opened) {
        close(fd);
        return DW_ERR_MEMORY;
    }
    opened->fd = fd;
    opened->dwarf = dwarf_begin(fd, DWARF_C_READ);
    int error = opened->dwarf ? read_units(opened) : DW_ERR_EMPTY;
    if (error)
        dw_dwarf_close(opened);
    else
        *dwarf = opened;
    return error;
}

void dw_dwarf_close(struct dw_dwarf *dwarf)
{
    if (!dwarf)
        return;
    for (uint32_t i = 0; i < dwarf->count; i++) {
        free(dwarf->units[i].spans.spans);
        free(dwarf->units[i].functions);
        dw_dwarf_scopes_release(&dwarf->units[i].scopes);
    }
    free(dwarf->units);
    free(dwarf->spans.spans);
    dwarf_end(dwarf->dwarf);
    close(dwarf->fd);
    free(dwarf);
}
