/* SPDX-License-Identifier: MIT
 * The file of a mapping that a foreign profile names. Without a build id, a file that changed after
 * the profile was written is not the one that ran. */
#ifndef DW_IMPORT_OBJECT_H
#define DW_IMPORT_OBJECT_H

#include "model/sample.h"
#include "native/elf/symbols.h"

struct dw_object {
    uint64_t bias;              /* address in memory less that in the file */
    struct dw_symbols *symbols; /* NULL: it changed, cannot be read, or is not ELF */
};

/* Of `module`, only the mapping and the build id are used. */
void dw_object_open(struct dw_object *object, const char *path, const struct dw_module *module,
                    uint64_t written_ns);
void dw_object_close(struct dw_object *object);

#endif
