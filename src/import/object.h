/* SPDX-License-Identifier: MIT
 * The file of a mapping that a foreign profile names. Without a build id, a file that changed after
 * the profile was written is not the one that ran. */
#ifndef DW_IMPORT_OBJECT_H
#define DW_IMPORT_OBJECT_H

#include "import/foreign.h"
#include "native/elf/symbols.h"

struct dw_object {
    uint64_t bias;              /* address in memory less that in the file */
    struct dw_symbols *symbols; /* NULL: it changed, cannot be read, or is not ELF */
};

/* Of `module`, only the mapping and the build id are used. */
void dw_object_open(struct dw_object *object, const char *path, const struct dw_module *module,
                    uint64_t written_ns);
void dw_object_close(struct dw_object *object);
/* Adds the module to the profile, with the bias of its object. 1 + its index; 0 after an error. */
uint32_t dw_object_add_module(const struct dw_object *object, struct dw_module module,
                              struct dw_foreign *foreign);
/* What code at an address of the file is called: its symbol, else its object. */
dw_string_id dw_object_name_at(const struct dw_object *object, uint64_t address, dw_string_id path,
                               struct dw_foreign *foreign);

#endif
