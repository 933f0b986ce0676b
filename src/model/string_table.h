/* SPDX-License-Identifier: MIT
 * Interned byte strings. Id 0 is the empty string. Names and paths come from
 * users: any bytes, any length; validity is the output's concern. */
#ifndef DW_MODEL_STRING_TABLE_H
#define DW_MODEL_STRING_TABLE_H

#include "base/map.h"

#include <string.h>

typedef uint32_t dw_string_id;

struct dw_string {
    const char *bytes; /* also NUL-terminated, for convenience */
    size_t size;
};

struct dw_string_table {
    struct dw_string *strings;
    uint32_t count;
    uint32_t capacity;
    size_t bytes; /* text held, for limits */
    struct dw_map index;
};

/* In the order of their bytes. */
static inline int dw_string_compare(struct dw_string a, struct dw_string b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

int dw_string_table_init(struct dw_string_table *table);
void dw_string_table_release(struct dw_string_table *table);
int dw_string_intern(struct dw_string_table *table, const void *bytes, size_t size,
                     dw_string_id *id);

/* Bytes of a name that a file is believed: one of megabytes that very many rows have would make
 * reports of terabytes. */
#define DW_NAME_MAX 4096
/* The same for a name from a file: what is longer is cut, and says by how much. */
int dw_string_intern_name(struct dw_string_table *table, const void *bytes, size_t size,
                          dw_string_id *id);

#endif
