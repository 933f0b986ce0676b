/* SPDX-License-Identifier: MIT
 * A scope has its parent's id and libdw's name; whole names are put together only when they are
 * asked for. A function is found by where it was declared, since definitions and inlined copies
 * refer to that. */
#include "native/debug/dwarf_scopes.h"

#include "base/buffer.h"
#include "base/intern.h"
#include "native/debug/demangle.h"

#include <dwarf.h>
#include <string.h>

#define MAX_DEPTH 64
#define UNNAMED_CLASS "{unnamed}"

void dw_dwarf_scopes_release(struct dw_dwarf_scopes *scopes)
{
    for (uint32_t i = 0; i < scopes->count; i++)
        free(scopes->functions[i].name);
    free(scopes->functions);
    free(scopes->scopes);
    dw_map_release(&scopes->index);
    *scopes = (struct dw_dwarf_scopes){0};
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
                   dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute)
               ? dwarf_formstring(&attribute)
               : NULL;
}

/* A function's name for the linker tells more than its name in the source. */
static const char *scope_name(Dwarf_Die *die)
{
    const char *linkage = dwarf_tag(die) == DW_TAG_subprogram ? linkage_name(die) : NULL;
    const char *name = linkage ? linkage : dwarf_diename(die);
    return name && *name                        ? name
           : dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)"
                                                : UNNAMED_CLASS;
}

/* Goes from an inlined or defined function to its first declaration. */
static void find_declaration(Dwarf_Die *die)
{
    static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
    for (int step = 0; step < 8; step++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        bool is_linked =
            (dwarf_attr(die, links[0], &attribute) || dwarf_attr(die, links[1], &attribute)) &&
            dwarf_formref_die(&attribute, &next);
        if (!is_linked)
            return;
        *die = next;
    }
}

/* The function as it was declared, if that is in a scope; DW_MAP_NONE otherwise. */
static uint32_t find_scoped(const struct dw_dwarf_scopes *scopes, const Dwarf_Die *function)
{
    Dwarf_Die declaration = *function;
    find_declaration(&declaration);
    Dwarf_Off offset = dwarf_dieoffset(&declaration);
    return DW_INTERN_FIND(scopes->functions, scopes->index, sizeof offset, &offset);
}

int dw_dwarf_scope_add(struct dw_dwarf_scopes *scopes, dw_scope_id parent, Dwarf_Die *die,
                       dw_scope_id *id)
{
    int error = DW_GROW(scopes->scopes, scopes->scope_count, scopes->scope_capacity);
    if (error)
        return error;
    uint32_t declared = find_scoped(scopes, die);
    if (declared != DW_MAP_NONE) /* defined outside of where it belongs */
        parent = scopes->functions[declared].scope;
    scopes->scopes[scopes->scope_count++] = (struct dw_scope){parent, scope_name(die)};
    *id = scopes->scope_count;
    return 0;
}

int dw_dwarf_scopes_put(struct dw_dwarf_scopes *scopes, dw_scope_id scope, Dwarf_Die *function)
{
    Dwarf_Off offset = dwarf_dieoffset(function);
    if (!scope || linkage_name(function) || !dwarf_hasattr(function, DW_AT_name))
        return 0;
    uint32_t id;
    return DW_INTERN(scopes->functions, scopes->count, scopes->capacity, scopes->index,
                     sizeof offset, (&(struct dw_scoped){.offset = offset, .scope = scope}), &id);
}

/* An unnamed class with an operator() is a lambda. */
static void append_scope(struct dw_buffer *name, const char *scope, const char *last)
{
    char *readable = dw_demangle(scope, DW_DEMANGLE_FULL);
    bool is_lambda = !strcmp(scope, UNNAMED_CLASS) && !strcmp(last, "operator()");
    const char *text = is_lambda ? "{lambda}" : readable ? readable : scope;
    dw_buffer_append(name, text, strlen(text));
    dw_buffer_append(name, "::", 2);
    free(readable);
}

static char *make_name(const struct dw_dwarf_scopes *scopes, dw_scope_id scope, const char *last)
{
    const char *chain[MAX_DEPTH];
    struct dw_buffer name = {0};
    uint32_t count = 0;
    while (scope && count < MAX_DEPTH) {
        const struct dw_scope *at = &scopes->scopes[scope - 1];
        chain[count++] = at->name;
        scope = strncmp(at->name, "_Z", 2) ? at->parent : 0; /* a mangled name is whole by itself */
    }
    while (count)
        append_scope(&name, chain[--count], last);
    dw_buffer_append(&name, last, strlen(last) + 1);
    if (name.failed)
        dw_buffer_release(&name);
    return (char *)name.data;
}

const char *dw_dwarf_scopes_name(struct dw_dwarf_scopes *scopes, Dwarf_Die *function)
{
    const char *linkage = linkage_name(function), *name = dwarf_diename(function);
    if (linkage || !name)
        return linkage;
    uint32_t found = find_scoped(scopes, function);
    if (found == DW_MAP_NONE)
        return name;
    struct dw_scoped *scoped = &scopes->functions[found];
    if (!scoped->name)
        scoped->name = make_name(scopes, scoped->scope, name);
    return scoped->name ? scoped->name : name;
}
