/* SPDX-License-Identifier: MIT
 * Rows are found by function, line and callee. */
#include "model/line_table.h"

#include "base/intern.h"

#define KEY_SIZE (offsetof(struct dw_line, callee) + sizeof(dw_frame_id))

void dw_line_table_release(struct dw_line_table *table)
{
    free(table->lines);
    dw_map_release(&table->index);
    *table = (struct dw_line_table){0};
}

struct dw_line *dw_line_find(const struct dw_line_table *table, dw_frame_id function, uint32_t line)
{
    struct dw_line key = {.function = function, .line = line};
    uint32_t found = DW_INTERN_FIND(table->lines, table->index, KEY_SIZE, &key);
    return found == DW_MAP_NONE ? NULL : &table->lines[found];
}

struct dw_line *dw_line_get(struct dw_line_table *table, dw_frame_id function, uint32_t line,
                            dw_frame_id callee)
{
    struct dw_line key = {.function = function, .line = line, .callee = callee};
    uint32_t id;
    int error =
        DW_INTERN(table->lines, table->count, table->capacity, table->index, KEY_SIZE, &key, &id);
    return error ? NULL : &table->lines[id];
}

int dw_line_add(struct dw_line_table *table, const struct dw_line *from)
{
    struct dw_line *into = dw_line_get(table, from->function, from->line, from->callee);
    for (size_t i = 0; into && i < DW_LINE_METRICS; i++)
        if (i != DW_LINE_MEMORY && i != DW_LINE_RISE)
            into->values[i] += from->values[i];
        else if (from->values[i] > into->values[i])
            into->values[i] = from->values[i];
    return into ? 0 : DW_ERR_MEMORY;
}
