/* SPDX-License-Identifier: MIT
 * The order of the rows never depends on ids, which change with the order of the
 * logs: what ties by the column is decided by total, name, file and line. */
#define _GNU_SOURCE
#include "lens/view/row.h"

#include "base/error.h"
#include "base/order.h"
#include "lens/view/column.h"

#include <stdlib.h>

struct place {
    uint64_t key; /* larger ones come first */
    uint32_t row;
};

static int compare_frames(const struct dw_rows *rows, const struct dw_row *a,
                          const struct dw_row *b)
{
    const struct dw_profile *profile = rows->profile;
    const struct dw_frame *f = dw_profile_frame(profile, a->path);
    const struct dw_frame *g = dw_profile_frame(profile, b->path);
    int order = dw_string_compare(dw_row_name(rows, a), dw_row_name(rows, b));
    if (!order)
        order = dw_string_compare(dw_profile_string(profile, f->file),
                                  dw_profile_string(profile, g->file));
    return order ? order : dw_ascending(f->line, g->line);
}

/* A list by path comes in order of its names. */
static int compare(const void *left, const void *right, void *context)
{
    const struct place *p = left, *q = right;
    const struct dw_rows *rows = context;
    int order = dw_ascending(q->key, p->key);
    if (!order && rows->by != DW_BY_PATH)
        order = compare_frames(rows, &rows->rows[p->row], &rows->rows[q->row]);
    return order ? order : dw_ascending(p->row, q->row);
}

/* In a sort by name all keys are equal, and names decide, as they decide ties. */
static uint64_t key_of(const struct dw_rows *rows, const struct dw_row *row,
                       const struct dw_column *column)
{
    if (!column)
        return row->total;
    return column->kind == DW_COLUMN_TEXT ? 0 : dw_column_number(column, rows, row);
}

/* The children of row r are places[start[r + 1]] up to places[start[r + 2]]; roots come first. */
struct walk {
    struct place *places;
    uint32_t *start;
    uint32_t *stack; /* rows to visit, the next one last */
};

static int walk_init(struct walk *walk, uint32_t count)
{
    walk->places = malloc((count + 1u) * sizeof *walk->places);
    walk->start = calloc(count + 2u, sizeof *walk->start);
    walk->stack = malloc((count + 1u) * sizeof *walk->stack);
    return walk->places && walk->start && walk->stack ? 0 : DW_ERR_MEMORY;
}

static void walk_release(struct walk *walk)
{
    free(walk->places);
    free(walk->start);
    free(walk->stack);
}

/* Counts the children of each row, so that it is known where they end; each that is put there, the
 * last first, then moves their start. DW_ROW_NONE + 1 is 0. */
static void list_children(struct walk *walk, const struct dw_rows *rows,
                          const struct dw_column *column)
{
    uint32_t count = rows->count;
    for (uint32_t i = 0; i < count; i++)
        walk->start[rows->rows[i].parent + 1]++;
    for (uint32_t i = 0; i <= count; i++)
        walk->start[i + 1] += walk->start[i];
    for (uint32_t i = count; i-- > 0;)
        walk->places[--walk->start[rows->rows[i].parent + 1]] =
            (struct place){key_of(rows, &rows->rows[i], column), i};
}

/* Roots of trees stay in their order. */
static void sort_siblings(struct walk *walk, const struct dw_rows *rows)
{
    for (uint32_t i = rows->is_flat ? 0 : 1; i <= rows->count; i++) {
        uint32_t count = walk->start[i + 1] - walk->start[i];
        if (count > 1)
            qsort_r(&walk->places[walk->start[i]], count, sizeof *walk->places, compare,
                    (void *)rows);
    }
}

/* Puts children on the stack, the last first. */
static uint32_t push_children(struct walk *walk, uint32_t of, uint32_t depth)
{
    for (uint32_t i = walk->start[of + 1]; i-- > walk->start[of];)
        walk->stack[depth++] = walk->places[i].row;
    return depth;
}

static void visit(struct dw_row *rows, uint32_t row, uint32_t id)
{
    rows[row].id = id;
    if (rows[row].parent == DW_ROW_NONE)
        return;
    rows[row].depth = rows[rows[row].parent].depth + 1;
    rows[row].parent = rows[rows[row].parent].id; /* no row looks at it any more */
}

/* Moves each row to its place; there may be too many for a second array of them. */
static void permute(struct dw_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        while (rows->rows[i].id != i) {
            struct dw_row moved = rows->rows[i], *to = &rows->rows[moved.id];
            rows->rows[i] = *to;
            *to = moved;
        }
}

int dw_rows_sort(struct dw_rows *rows, const struct dw_column *column)
{
    struct walk walk = {0};
    int error = walk_init(&walk, rows->count);
    if (!error) {
        list_children(&walk, rows, column);
        sort_siblings(&walk, rows);
        uint32_t depth = push_children(&walk, 0, 0);
        for (uint32_t id = 0; depth; id++) {
            uint32_t row = walk.stack[--depth];
            visit(rows->rows, row, id);
            depth = push_children(&walk, row + 1, depth);
        }
        permute(rows);
    }
    walk_release(&walk);
    return error;
}
