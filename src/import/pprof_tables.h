/* SPDX-License-Identifier: MIT
 * The tables of a profile in pprof's format, as the file has them: ids and numbers of strings,
 * of which any may be wrong. Reading them touches no profile of ours. */
#ifndef DW_IMPORT_PPROF_TABLES_H
#define DW_IMPORT_PPROF_TABLES_H

#include "base/pprof_fields.h"
#include "model/string_table.h"

/* Plain fields of a message, by number. */
struct dw_pprof_entry {
    uint64_t fields[DW_PPROF_FIELDS];
    uint32_t first_line, line_count; /* of a location, the innermost of those inlined first */
};

struct dw_pprof_entries {
    struct dw_pprof_entry *entries;
    uint32_t count, capacity;
};

/* Numbers, as they are repeated in a message. */
struct dw_pprof_numbers {
    uint64_t *numbers;
    uint32_t count, capacity;
};

struct dw_pprof_tables {
    uint64_t fields[DW_PPROF_FIELDS]; /* of the profile itself */
    struct dw_pprof_entry period_type;
    struct dw_pprof_entries types, lines;
    struct dw_pprof_entries mappings, functions, locations; /* by id */
    struct dw_string *strings;
    uint32_t string_count, string_capacity;
    struct dw_string *samples; /* the messages */
    uint32_t sample_count, sample_capacity;
    struct dw_pprof_numbers comments; /* numbers of strings */
};

struct dw_pprof_sample {
    struct dw_pprof_numbers locations, values; /* the innermost location first */
    struct dw_pprof_entries labels;
};

/* 0, DW_ERR_MEMORY, DW_ERR_TOO_LARGE, or DW_ERR_DAMAGED; release them in any case. The bytes must
 * live as long as the tables. */
int dw_pprof_tables_read(struct dw_string bytes, struct dw_pprof_tables *tables);
void dw_pprof_tables_release(struct dw_pprof_tables *tables);

/* Reads a sample into one that is empty or was used before. */
int dw_pprof_sample_read(struct dw_string message, struct dw_pprof_sample *sample);
void dw_pprof_sample_release(struct dw_pprof_sample *sample);

/* The entry with that id, or NULL. */
const struct dw_pprof_entry *dw_pprof_find(const struct dw_pprof_entries *entries, uint64_t id);
/* Empty when there is no string of that number. */
struct dw_string dw_pprof_string_at(const struct dw_pprof_tables *tables, uint64_t number);

#endif
