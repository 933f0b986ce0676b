/* SPDX-License-Identifier: MIT
 * Rows are found by function, line and callee. */
#include "model/line_table.h"

#include "base/grow.h"

static uint64_t hash_line(const struct dw_line *line)
{
    return dw_hash_mix(dw_hash_mix((uint64_t)line->function << 32 | line->line) ^ line->callee);
}

static bool equal(const void *lines, uint32_t id, const void *key)
{
    const struct dw_line *a = (const struct dw_line *)lines + id, *b = key;
    return a->function == b->function && a->line == b->line && a->callee == b->callee;
}

static uint64_t hash_of(const void *lines, uint32_t id)
{
    return hash_line((const struct dw_line *)lines + id);
}

void dw_line_table_release(struct dw_line_table *table)
{
    free(table->lines);
    dw_map_release(&table->index);
    *table = (struct dw_line_table){0};
}

struct dw_line *dw_line_get(struct dw_line_table *table, dw_frame_id function, uint32_t line,
                            dw_frame_id callee)
{
    struct dw_line key = {.function = function, .line = line, .callee = callee};
    uint64_t hash = hash_line(&key);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->lines, &key);
    if (found != DW_MAP_NONE)
        return &table->lines[found];
    if (DW_GROW(table->lines, table->count, table->capacity))
        return NULL;
    table->lines[table->count] = key;
    if (dw_map_add(&table->index, hash, table->count, hash_of, table->lines))
        return NULL;
    return &table->lines[table->count++];
}

int dw_line_add(struct dw_line_table *table, const struct dw_line *from)
{
    struct dw_line *into = dw_line_get(table, from->function, from->line, from->callee);
    for (size_t i = 0; into && i < DW_LINE_METRICS; i++)
        if (i != DW_LINE_MEMORY)
            into->values[i] += from->values[i];
        else if (from->values[i] > into->values[i])
            into->values[i] = from->values[i];
    return into ? 0 : DW_ERR_MEMORY;
}
