/* SPDX-License-Identifier: MIT
 * The file of a mapping that a foreign profile names, as it is now: such profiles have no build
 * ids, so nothing can tell whether it is the one that ran. */
#ifndef DW_IMPORT_OBJECT_H
#define DW_IMPORT_OBJECT_H

#include "native/symbols.h"

struct dw_object {
    uint64_t bias;              /* address in memory less that in the file */
    struct dw_symbols *symbols; /* NULL: it cannot be read, or is no ELF file */
};

/* `start` is where the file's bytes from `offset` on were mapped. */
void dw_object_open(struct dw_object *object, const char *path, uint64_t start, uint64_t offset);
void dw_object_close(struct dw_object *object);

#endif
