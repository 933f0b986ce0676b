/* SPDX-License-Identifier: MIT
 * Trees that people can read: what takes little is left out, and a chain of callers that only hand
 * on to the next is one row. That row has the total of the first and the own time of the last. */
#include "lens/view/row.h"

#include "base/room.h"

struct pruning {
    struct dw_rows *rows;
    uint32_t *new_id;   /* of each row that was there; DW_ROW_NONE: left out */
    uint32_t *children; /* of each: how many of its rows stay */
    uint32_t kept;
};

static uint64_t least(const struct pruning *pruning, const struct dw_row *row)
{
    return (uint64_t)(pruning->rows->threshold * (double)dw_row_tree(pruning->rows, row)->total);
}

/* Whether the kept row `above`, which stands for the row's parent, has nothing else to tell. */
static bool joins(const struct pruning *pruning, const struct dw_row *above,
                  const struct dw_row *row)
{
    bool is_often = pruning->rows->are_samples || dw_row_metric(pruning->rows, above).count ==
                                                      dw_row_metric(pruning->rows, row).count;
    return above->parent != DW_ROW_NONE && pruning->children[row->parent] == 1 && is_often &&
           above->self < least(pruning, row) && above->total < row->total + least(pruning, row);
}

/* Marks what stays with 0 in new_id. Rows come after those that they are under. */
static void choose(struct pruning *pruning)
{
    struct dw_rows *rows = pruning->rows;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct dw_row *row = &rows->rows[i];
        if (row->parent == DW_ROW_NONE)
            continue;
        bool is_under = pruning->new_id[row->parent] == DW_ROW_NONE;
        if (!is_under && row->total >= least(pruning, row)) {
            pruning->children[row->parent]++;
            continue;
        }
        pruning->new_id[i] = DW_ROW_NONE;
        rows->small++;
        rows->small_total += is_under ? 0 : row->total;
    }
}

static void join(struct dw_row *above, const struct dw_row *row)
{
    above->path = row->path;
    above->inner = row->inner;
    above->self = row->self;
    above->joined++;
}

static void keep(struct pruning *pruning, uint32_t index)
{
    struct dw_row row = pruning->rows->rows[index], *rows = pruning->rows->rows;
    row.id = pruning->kept;
    if (row.parent != DW_ROW_NONE) {
        row.parent = pruning->new_id[row.parent];
        row.depth = rows[row.parent].depth + 1;
    }
    pruning->new_id[index] = pruning->kept;
    rows[pruning->kept++] = row;
}

static void compact(struct pruning *pruning)
{
    struct dw_row *rows = pruning->rows->rows;
    for (uint32_t i = 0; i < pruning->rows->count; i++) {
        struct dw_row *row = &rows[i];
        bool is_out = pruning->new_id[i] == DW_ROW_NONE;
        uint32_t above =
            is_out || row->parent == DW_ROW_NONE ? DW_ROW_NONE : pruning->new_id[row->parent];
        bool is_joined = above != DW_ROW_NONE && joins(pruning, &rows[above], row);
        if (is_joined) {
            join(&rows[above], row);
            pruning->new_id[i] = above;
        }
        if (!is_out && !is_joined)
            keep(pruning, i);
    }
    pruning->rows->count = pruning->kept;
}

int dw_rows_prune(struct dw_rows *rows, double threshold)
{
    struct pruning pruning = {.rows = rows};
    struct dw_room room = {0};
    DW_ROOM_GET(&room, pruning.new_id, rows->count);
    DW_ROOM_GET(&room, pruning.children, rows->count);
    int error = dw_room_error(&room);
    rows->threshold = threshold;
    if (!error) {
        choose(&pruning);
        compact(&pruning);
    }
    dw_room_release(&room);
    return error;
}
