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
    uint32_t parent; /* DW_ROW_NONE sorts last */
    uint32_t row;
    uint64_t key; /* larger ones come first */
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

/* Roots of trees stay in their order; a list by path comes in order of its names. */
static int compare(const void *left, const void *right, void *context)
{
    const struct place *p = left, *q = right;
    const struct dw_rows *rows = context;
    const struct dw_row *a = &rows->rows[p->row], *b = &rows->rows[q->row];
    int order = dw_ascending(p->parent, q->parent);
    if (!order && (rows->is_flat || p->parent != DW_ROW_NONE)) {
        order = dw_ascending(q->key, p->key);
        if (!order && rows->by != DW_BY_PATH)
            order = compare_frames(rows, a, b);
    }
    return order ? order : dw_ascending(p->row, q->row);
}

/* In a sort by name all keys are equal, and names decide, as they decide ties. */
static uint64_t key_of(const struct dw_row *row, const struct dw_column *column)
{
    if (!column)
        return row->total;
    return column->kind == DW_COLUMN_TEXT ? 0 : dw_column_number(column, row);
}

static struct place *sorted_places(const struct dw_rows *rows, const struct dw_column *column)
{
    struct place *places = malloc((rows->count + 1u) * sizeof *places);
    if (!places)
        return NULL;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct dw_row *row = &rows->rows[i];
        places[i] = (struct place){row->parent, i, key_of(row, column)};
    }
    qsort_r(places, rows->count, sizeof *places, compare, (void *)rows);
    return places;
}

/* What the depth-first walk needs; all arrays have an entry for each row. */
struct walk {
    uint32_t *first; /* of each row: where its children begin in the places */
    uint32_t *stack; /* rows to visit, the next one last */
};

static int walk_init(struct walk *walk, uint32_t count)
{
    size_t size = count + 1u;
    walk->first = malloc(size * sizeof *walk->first);
    walk->stack = malloc(size * sizeof *walk->stack);
    return walk->first && walk->stack ? 0 : DW_ERR_MEMORY;
}

static void walk_release(struct walk *walk)
{
    free(walk->first);
    free(walk->stack);
}

/* Puts the run of places that starts at `at` and has the same parent on the stack, last first. */
static uint32_t push_siblings(struct walk *walk, const struct place *places, uint32_t count,
                              uint32_t at, uint32_t depth)
{
    uint32_t end = at;
    while (end < count && places[end].parent == places[at].parent)
        end++;
    for (uint32_t i = end; i-- > at;)
        walk->stack[depth++] = places[i].row;
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

static void walk_rows(struct walk *walk, const struct place *places, struct dw_rows *rows)
{
    uint32_t count = rows->count, roots = count;
    memset(walk->first, 0xff, count * sizeof *walk->first);
    for (uint32_t i = count; i-- > 0;) {
        if (places[i].parent == DW_ROW_NONE)
            roots = i;
        else
            walk->first[places[i].parent] = i;
    }
    uint32_t depth = push_siblings(walk, places, count, roots, 0);
    for (uint32_t id = 0; depth; id++) {
        uint32_t row = walk->stack[--depth];
        visit(rows->rows, row, id);
        if (walk->first[row] != DW_ROW_NONE)
            depth = push_siblings(walk, places, count, walk->first[row], depth);
    }
}

int dw_rows_sort(struct dw_rows *rows, const struct dw_column *column)
{
    struct walk walk = {0};
    struct place *places = sorted_places(rows, column);
    int error = places ? walk_init(&walk, rows->count) : DW_ERR_MEMORY;
    if (!error) {
        walk_rows(&walk, places, rows);
        permute(rows);
    }
    walk_release(&walk);
    free(places);
    return error;
}
