/* SPDX-License-Identifier: MIT
 * Flat lists, made from the tree of all paths, which knows what is inside what. */
#include "lens/row.h"

#include "base/grow.h"
#include "lens/column.h"

/* Keeps the rows that pass, as a flat list in the same order. */
static void keep_measured_paths(struct dw_rows *rows)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        struct dw_row *row = &rows->rows[i];
        if (!row->measured || row->path == DW_PATH_ROOT) {
            dw_metric_release(&row->metric);
            continue;
        }
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

/* A walk over all paths that knows, at each, which frames are already open. */
struct recursion {
    const struct dw_path *paths;
    dw_path_id *first, *next; /* child and sibling; 0: none */
    uint32_t *open;           /* of each frame: how often it is on the way here */
    bool *outermost;          /* of each path: its frame is not further up too */
};

static int recursion_init(struct recursion *recursion, const struct dw_profile *profile)
{
    uint32_t count = profile->paths.count;
    *recursion = (struct recursion){
        .paths = profile->paths.paths,
        .first = calloc(count, sizeof(dw_path_id)),
        .next = calloc(count, sizeof(dw_path_id)),
        .open = calloc(profile->frames.count, sizeof(uint32_t)),
        .outermost = calloc(count, sizeof(bool)),
    };
    if (!recursion->first || !recursion->next || !recursion->open || !recursion->outermost)
        return DW_ERR_MEMORY;
    for (dw_path_id path = count; --path > 0;) {
        dw_path_id parent = recursion->paths[path].parent;
        recursion->next[path] = recursion->first[parent];
        recursion->first[parent] = path;
    }
    return 0;
}

static void recursion_release(struct recursion *recursion)
{
    free(recursion->first);
    free(recursion->next);
    free(recursion->open);
    free(recursion->outermost);
}

static void enter(struct recursion *recursion, dw_path_id path)
{
    recursion->outermost[path] = recursion->open[recursion->paths[path].frame]++ == 0;
}

static void leave(struct recursion *recursion, dw_path_id path)
{
    recursion->open[recursion->paths[path].frame]--;
}

static void find_outermost(struct recursion *recursion)
{
    dw_path_id at = DW_PATH_ROOT;
    enter(recursion, at);
    for (;;) {
        dw_path_id next = recursion->first[at];
        while (!next && at != DW_PATH_ROOT) {
            leave(recursion, at);
            next = recursion->next[at];
            at = recursion->paths[at].parent;
        }
        if (!next)
            return;
        at = next;
        enter(recursion, at);
    }
}

static int add_to_name(struct dw_row *into, const struct dw_row *from, bool outermost)
{
    if (outermost) {
        into->total += from->total;
        into->suspended += from->suspended;
        into->cpu += from->cpu;
    }
    into->inner += from->inner;
    into->self += from->self;
    return dw_metric_merge(&into->metric, &from->metric);
}

/* The row of a frame in the list, made when absent; NULL when out of memory. */
static struct dw_row *name_row(struct dw_rows *list, uint32_t *row_of_frame, dw_frame_id frame,
                               const struct dw_row *like)
{
    if (row_of_frame[frame] == DW_ROW_NONE) {
        if (DW_GROW(list->rows, list->count, list->capacity))
            return NULL;
        row_of_frame[frame] = list->count;
        list->rows[list->count++] = (struct dw_row){
            .parent = DW_ROW_NONE,
            .thread = DW_ROW_NONE,
            .process = DW_ROW_NONE,
            .path = like->path,
            .name = like->name,
            .measured = true,
            .tree_total = like->tree_total,
        };
    }
    return list->rows ? &list->rows[row_of_frame[frame]] : NULL;
}

static int merge_names(const struct dw_rows *tree, const struct recursion *recursion,
                       uint32_t *row_of_frame, struct dw_rows *list)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct dw_row *row = &tree->rows[i];
        if (!row->measured)
            continue;
        struct dw_row *named = name_row(list, row_of_frame, recursion->paths[row->path].frame, row);
        int error =
            named ? add_to_name(named, row, recursion->outermost[row->path]) : DW_ERR_MEMORY;
        if (error)
            return error;
    }
    return 0;
}

static void swap_rows(struct dw_rows *a, struct dw_rows *b)
{
    struct dw_rows rows = *a;
    a->rows = b->rows, a->count = b->count, a->capacity = b->capacity;
    b->rows = rows.rows, b->count = rows.count, b->capacity = rows.capacity;
}

int dw_rows_flatten_names(struct dw_rows *rows)
{
    struct dw_rows list = {0};
    struct recursion recursion;
    size_t size = rows->profile->frames.count * sizeof(uint32_t);
    uint32_t *row_of_frame = malloc(size);
    int error = recursion_init(&recursion, rows->profile);
    if (!error && !row_of_frame)
        error = DW_ERR_MEMORY;
    if (!error) {
        memset(row_of_frame, 0xff, size);
        find_outermost(&recursion);
        error = merge_names(rows, &recursion, row_of_frame, &list);
        swap_rows(rows, &list);
    }
    dw_rows_release(&list);
    recursion_release(&recursion);
    free(row_of_frame);
    return error;
}
