/* SPDX-License-Identifier: MIT
 * The file of a mapping that a foreign profile names. Such profiles have no build ids: what
 * tells that a file is not the one that ran is that it changed after the profile was written. */
#ifndef DW_IMPORT_OBJECT_H
#define DW_IMPORT_OBJECT_H

#include "native/symbols.h"

struct dw_object {
    uint64_t bias;              /* address in memory less that in the file */
    struct dw_symbols *symbols; /* NULL: it changed, cannot be read, or is no ELF file */
};

/* `start` is where the file's bytes from `offset` on were mapped. */
void dw_object_open(struct dw_object *object, const char *path, uint64_t start, uint64_t offset,
                    uint64_t written_ns);
void dw_object_close(struct dw_object *object);

#endif
