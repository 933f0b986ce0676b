/* SPDX-License-Identifier: MIT
 * The mappings of a profile of pprof as modules of ours, made as they are used. */
#ifndef DW_IMPORT_PPROF_MAPPINGS_H
#define DW_IMPORT_PPROF_MAPPINGS_H

#include "import/foreign.h"
#include "import/pprof_tables.h"

struct dw_pprof_module;

struct dw_pprof_mappings {
    struct dw_foreign *foreign;
    const struct dw_pprof_tables *tables;
    struct dw_pprof_module *modules; /* beside the mappings of the tables */
};

/* Where a location is; module 0: it is in no known module. */
struct dw_mapped {
    uint32_t module; /* 1 + index */
    uint64_t address;
    dw_string_id path;
};

int dw_pprof_mappings_init(struct dw_pprof_mappings *mappings, struct dw_foreign *foreign,
                           const struct dw_pprof_tables *tables);
void dw_pprof_mappings_release(struct dw_pprof_mappings *mappings);

struct dw_mapped dw_pprof_mapping_of(struct dw_pprof_mappings *mappings,
                                     const struct dw_pprof_entry *location);
/* What to call a location that has no name: by its file's symbols, or after the file. */
dw_string_id dw_pprof_mapping_name(struct dw_pprof_mappings *mappings,
                                   const struct dw_pprof_entry *location);

#endif
