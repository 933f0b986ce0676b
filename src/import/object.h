/* SPDX-License-Identifier: MIT
 * The file of a mapping that a foreign profile names. Where it has no build id, what tells that
 * a file is not the one that ran is that it changed after the profile was written. */
#ifndef DW_IMPORT_OBJECT_H
#define DW_IMPORT_OBJECT_H

#include "model/sample.h"
#include "native/elf/symbols.h"

struct dw_object {
    uint64_t bias;              /* address in memory less that in the file */
    struct dw_symbols *symbols; /* NULL: it changed, cannot be read, or is no ELF file */
};

/* Of the module, where it was mapped and its build id count. */
void dw_object_open(struct dw_object *object, const char *path, const struct dw_module *module,
                    uint64_t written_ns);
void dw_object_close(struct dw_object *object);

#endif
