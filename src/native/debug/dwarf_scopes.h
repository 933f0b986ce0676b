/* SPDX-License-Identifier: MIT
 * Whole names of functions that have none for the linker, as those of local classes and
 * lambdas in C++: the namespaces, classes and functions that they are declared in. */
#ifndef DW_NATIVE_DEBUG_DWARF_SCOPES_H
#define DW_NATIVE_DEBUG_DWARF_SCOPES_H

#include "base/map.h"

#include <elfutils/libdw.h>

typedef uint32_t dw_scope_id; /* 0: outside of everything */

struct dw_dwarf_scopes {
    struct dw_scope {
        dw_scope_id parent;
        const char *name; /* of libdw */
    } * scopes;
    uint32_t scope_count, scope_capacity;
    struct dw_scoped {
        Dwarf_Off offset; /* of the function's declaration */
        dw_scope_id scope;
        char *name; /* owned; NULL: not made yet */
    } * functions;
    uint32_t count, capacity;
    struct dw_map index;
};

void dw_dwarf_scopes_release(struct dw_dwarf_scopes *scopes);
/* A namespace, class or function inside another one. */
int dw_dwarf_scope_add(struct dw_dwarf_scopes *scopes, dw_scope_id parent, Dwarf_Die *die,
                       dw_scope_id *id);
/* A function whose name may be asked for later. */
int dw_dwarf_scopes_put(struct dw_dwarf_scopes *scopes, dw_scope_id scope, Dwarf_Die *function);
/* The name for the linker, or the whole name in the source; NULL when it has none. */
const char *dw_dwarf_scopes_name(struct dw_dwarf_scopes *scopes, Dwarf_Die *function);

#endif
