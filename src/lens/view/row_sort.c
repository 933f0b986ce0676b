/* SPDX-License-Identifier: MIT
 * The order of the rows never depends on ids, which change with the order of the
 * logs: what ties by the column is decided by total, name, file and line. */
#include "lens/view/row.h"

#include "base/order.h"
#include "base/room.h"
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
    return dw_string_compare(dw_row_name(rows, a), dw_row_name(rows, b))
           ?: dw_string_compare(dw_profile_string(profile, f->file),
                                dw_profile_string(profile, g->file))
           ?: dw_ascending(f->line, g->line);
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
    struct dw_metric metric = dw_row_metric(rows, row);
    return column->kind == DW_COLUMN_TEXT ? 0 : column->get(row, &metric);
}

/* The children of row r are children[start[r + 1]] up to children[start[r + 2]]; roots come first.
 */
struct walk {
    uint32_t *children;
    uint32_t *start;
    uint32_t *order; /* rows that were visited; at its end those to visit, the next one first */
    struct place *places; /* for the siblings that are sorted, as many as there are at most */
    struct dw_room room;
};

static int walk_init(struct walk *walk, uint32_t count)
{
    DW_ROOM_GET(&walk->room, walk->children, count);
    DW_ROOM_GET(&walk->room, walk->start, count + 2u);
    DW_ROOM_GET(&walk->room, walk->order, count);
    return dw_room_error(&walk->room);
}

/* Counts the children of each row, so that it is known where they end; each that is put there, the
 * last first, then moves their start. DW_ROW_NONE + 1 is 0. */
static int list_children(struct walk *walk, const struct dw_rows *rows)
{
    uint32_t count = rows->count, most = 0;
    for (uint32_t i = 0; i < count; i++)
        walk->start[rows->rows[i].parent + 1]++;
    for (uint32_t i = 0; i <= count; i++) {
        most = walk->start[i] > most ? walk->start[i] : most;
        walk->start[i] += i ? walk->start[i - 1] : 0;
    }
    walk->start[count + 1] = count;
    for (uint32_t i = count; i-- > 0;)
        walk->children[--walk->start[rows->rows[i].parent + 1]] = i;
    DW_ROOM_GET(&walk->room, walk->places, most);
    return dw_room_error(&walk->room);
}

static void sort(struct walk *walk, const struct dw_rows *rows, const struct dw_column *column,
                 uint32_t *children, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        walk->places[i] =
            (struct place){key_of(rows, &rows->rows[children[i]], column), children[i]};
    qsort_r(walk->places, count, sizeof *walk->places, compare, (void *)rows);
    for (uint32_t i = 0; i < count; i++)
        children[i] = walk->places[i].row;
}

/* Roots of trees stay in their order. */
static void sort_siblings(struct walk *walk, const struct dw_rows *rows,
                          const struct dw_column *column)
{
    for (uint32_t i = rows->is_flat ? 0 : 1; i <= rows->count; i++) {
        uint32_t count = walk->start[i + 1] - walk->start[i];
        if (count > 1)
            sort(walk, rows, column, &walk->children[walk->start[i]], count);
    }
}

/* Puts children in front of those to visit. */
static uint32_t push_children(struct walk *walk, uint32_t of, uint32_t front)
{
    for (uint32_t i = walk->start[of + 1]; i-- > walk->start[of];)
        walk->order[--front] = walk->children[i];
    return front;
}

static void visit(struct dw_row *rows, uint32_t row, uint32_t id)
{
    rows[row].id = id;
    if (rows[row].parent == DW_ROW_NONE)
        return;
    rows[row].depth = rows[rows[row].parent].depth + 1;
    rows[row].parent = rows[rows[row].parent].id; /* no row looks at it any more */
}

/* Moves each row to its place; there may be too many for a second array of them. They lie anywhere,
 * so they are fetched some moves ahead. */
static void permute(struct dw_row *rows, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = i, ahead = i;
        if (order[i] == i)
            continue;
        struct dw_row first = rows[i];
        for (int moves = 0; moves < 8; moves++)
            ahead = order[ahead];
        for (uint32_t from; (from = order[to]) != i; to = from) {
            ahead = order[ahead];
            __builtin_prefetch(&rows[ahead]);
            rows[to] = rows[from];
            order[to] = to;
        }
        rows[to] = first;
        order[to] = to;
    }
}

int dw_rows_sort(struct dw_rows *rows, const struct dw_column *column)
{
    struct walk walk = {0};
    int error = walk_init(&walk, rows->count);
    if (!error)
        error = list_children(&walk, rows);
    if (!error) {
        sort_siblings(&walk, rows, column);
        uint32_t front = push_children(&walk, 0, rows->count);
        for (uint32_t id = 0; front < rows->count; id++) {
            uint32_t row = walk.order[front++];
            visit(rows->rows, row, id);
            front = push_children(&walk, row + 1, front);
            walk.order[id] = row;
        }
        permute(rows->rows, walk.order, rows->count);
    }
    dw_room_release(&walk.room);
    return error;
}
