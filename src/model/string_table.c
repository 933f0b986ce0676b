/* SPDX-License-Identifier: MIT
 * Strings are copied, with a NUL behind them that is not part of them. */
#include "model/string_table.h"

#include "base/error.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool equal(const void *entries, uint32_t id, const void *key)
{
    const struct dw_string *a = (const struct dw_string *)entries + id, *b = key;
    return a->size == b->size && (!a->size || memcmp(a->bytes, b->bytes, a->size) == 0);
}

int dw_string_table_init(struct dw_string_table *table)
{
    *table = (struct dw_string_table){0};
    dw_string_id empty;
    return dw_string_intern(table, "", 0, &empty);
}

void dw_string_table_release(struct dw_string_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        free((void *)table->strings[i].bytes);
    free(table->strings);
    dw_map_release(&table->index);
    *table = (struct dw_string_table){0};
}

int dw_string_intern(struct dw_string_table *table, const void *bytes, size_t size,
                     dw_string_id *id)
{
    struct dw_string key = {bytes, size};
    uint64_t hash = dw_hash_bytes(bytes, size);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->strings, &key);
    if (found != DW_MAP_NONE) {
        *id = found;
        return 0;
    }
    int error = DW_GROW(table->strings, table->count, table->capacity);
    if (error)
        return error;
    char *copy = malloc(size + 1);
    if (!copy)
        return DW_ERR_MEMORY;
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = 0;
    table->strings[table->count] = (struct dw_string){copy, size};
    error = dw_map_put(&table->index, hash, table->count);
    if (error) {
        free(copy);
        return error;
    }
    table->bytes += size;
    *id = table->count++;
    return 0;
}

int dw_string_intern_name(struct dw_string_table *table, const void *bytes, size_t size,
                          dw_string_id *id)
{
    char name[DW_NAME_MAX + 64];
    const char *text = bytes;
    if (size <= DW_NAME_MAX)
        return dw_string_intern(table, bytes, size, id);
    size_t kept = DW_NAME_MAX;
    while (kept > DW_NAME_MAX - 3 && (text[kept] & 0xc0) == 0x80)
        kept--; /* not inside of a character */
    memcpy(name, text, kept);
    int more = snprintf(name + kept, sizeof name - kept, "[… %zu bytes …]", size - kept);
    return dw_string_intern(table, name, kept + (size_t)more, id);
}
