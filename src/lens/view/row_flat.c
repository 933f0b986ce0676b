/* SPDX-License-Identifier: MIT
 * Flat lists, made from the tree of all paths, which knows what is inside what, or of the roots
 * of many trees. */
#include "lens/view/row.h"

#include "base/grow.h"
#include "base/room.h"
#include "lens/view/column.h"
#include "model/outermost.h"

/* Keeps the rows that pass, as a flat list in the same order. */
static void keep_measured_paths(struct dw_rows *rows)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        struct dw_row *row = &rows->rows[i];
        if (!row->measured || row->path == DW_PATH_ROOT)
            continue;
        row->parent = DW_ROW_NONE;
        row->depth = 0;
        rows->rows[kept++] = *row;
    }
    rows->count = kept;
}

/* The tree is first put in order of names, which then decides ties in the list. */
int dw_rows_flatten_paths(struct dw_rows *rows)
{
    rows->by = DW_BY_REGION;
    int error = dw_rows_sort(rows, dw_column_find("name"));
    rows->by = DW_BY_PATH;
    if (!error)
        keep_measured_paths(rows);
    return error;
}

/* Of each path: whether its frame is not further up too. */
static int find_outermost(const struct dw_profile *profile, struct dw_room *room, bool **outermost)
{
    uint32_t count = profile->functions.count;
    uint32_t *frames = dw_room_get(room, count, sizeof *frames);
    DW_ROOM_GET(room, *outermost, count);
    if (room->failed)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 0; path < count; path++)
        frames[path] = profile->functions.paths[path].step;
    return dw_outermost_find(profile->functions.paths, sizeof *profile->functions.paths, count,
                             frames, profile->frames.count, *outermost);
}

static int add_to_name(struct dw_rows *list, struct dw_row *into, const struct dw_row *from,
                       struct dw_metric metric, bool outermost)
{
    into->inner += from->inner;
    into->self += from->self;
    if (outermost)
        into->total += from->total;
    else
        metric.suspended = metric.cpu = 0;
    return dw_row_add(list, into, &metric);
}

/* The row of a frame in the list, made when absent; NULL when out of memory. */
static struct dw_row *name_row(struct dw_rows *list, uint32_t *row_of_frame, dw_frame_id frame,
                               const struct dw_row *like)
{
    if (row_of_frame[frame] == DW_ROW_NONE) {
        if (DW_GROW(list->rows, list->count, list->capacity))
            return NULL;
        row_of_frame[frame] = list->count;
        list->rows[list->count++] = (struct dw_row){.parent = DW_ROW_NONE,
                                                    .thread = DW_ROW_NONE,
                                                    .tree = like->tree,
                                                    .path = like->path,
                                                    .measured = true};
    }
    return list->rows ? &list->rows[row_of_frame[frame]] : NULL;
}

static int merge_names(const struct dw_rows *tree, const bool *outermost, uint32_t *row_of_frame,
                       struct dw_rows *list)
{
    const struct dw_path *paths = tree->profile->functions.paths;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct dw_row *row = &tree->rows[i];
        if (!row->measured)
            continue;
        struct dw_row *named = name_row(list, row_of_frame, paths[row->path].step, row);
        int error =
            named ? add_to_name(list, named, row, dw_row_metric(tree, row), outermost[row->path])
                  : DW_ERR_MEMORY;
        if (error)
            return error;
    }
    return 0;
}

void dw_rows_flatten_trees(struct dw_rows *rows)
{
    uint32_t kept = 0;
    uint64_t whole = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->rows[i].parent == DW_ROW_NONE)
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
    for (uint32_t i = 0; i < rows->tree_count; i++)
        whole += rows->trees[i].total;
    for (uint32_t i = 0; i < rows->tree_count; i++)
        rows->trees[i].total = whole;
}

int dw_rows_flatten_names(struct dw_rows *rows)
{
    struct dw_rows list = {.profile = rows->profile, .family = rows->family};
    struct dw_room room = {0};
    uint32_t *row_of_frame = dw_room_get_ids(&room, rows->profile->frames.count);
    bool *outermost;
    int error = find_outermost(rows->profile, &room, &outermost);
    if (!error)
        error = merge_names(rows, outermost, row_of_frame, &list);
    dw_rows_clear(error ? &list : rows);
    if (!error) {
        rows->rows = list.rows, rows->count = list.count, rows->capacity = list.capacity;
        rows->sums = list.sums, rows->sum_count = list.sum_count;
    }
    dw_room_release(&room);
    return error;
}
