/* SPDX-License-Identifier: MIT
 * A tree for people: numbers in front, so that names may be as long as they are, or as there is
 * room for in the terminal. */
#include "base/error.h"
#include "lens/table/fit.h"
#include "lens/view/column.h"
#include "lens/view/notes.h"

#include <stdlib.h>

#define BAR_CELLS 10
#define BRANCH_MAX 60 /* levels drawn; a deeper row says how many more */
#define BAR_WIDTH (2 + BAR_CELLS)
#define NUMBERS_WIDTH 37 /* before a name, without a bar */
#define WIDE_FROM 100    /* columns of a terminal that has room for bars and long branches */
#define NAME_MIN 20      /* columns that names keep in the narrowest terminal */

/* What leads to a row: past others of further up, or not, and to itself, the last or not. */
struct branches {
    const char *by, *none, *next, *last;
    size_t width;
};

static const struct branches long_branches = {"│  ", "   ", "├─ ", "└─ ", 3};
static const struct branches short_branches = {"│ ", "  ", "├ ", "└ ", 2};

struct tree {
    struct dw_rows rows;
    uint32_t *last_child; /* of each row */
    struct dw_out cell;
    struct dw_out *out;
    bool has_bars;
    const struct branches *branches;
    size_t room; /* for branches and names; 0: they may be long */
};

static void put_right(struct tree *tree, size_t width)
{
    size_t used = dw_text_width(tree->cell.buffer.data, tree->cell.buffer.size);
    dw_out_repeat(tree->out, ' ', used < width ? width - used : 0);
    dw_out_write(tree->out, tree->cell.buffer.data, tree->cell.buffer.size);
    dw_buffer_clear(&tree->cell.buffer);
}

/* Eighths of a cell, so that a small share still shows. */
static void put_bar(struct dw_out *out, double share)
{
    static const char *const parts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned eighths = (unsigned)((share < 0 ? 0 : share > 1 ? 1 : share) * BAR_CELLS * 8 + 0.5);
    unsigned whole = eighths / 8;
    for (unsigned i = 0; i < whole; i++)
        dw_out_text(out, "█");
    if (whole < BAR_CELLS)
        dw_out_text(out, parts[eighths % 8]);
    if (whole + 1 < BAR_CELLS)
        dw_out_repeat(out, ' ', BAR_CELLS - whole - 1);
}

static bool is_last(const struct tree *tree, const struct dw_row *row)
{
    return tree->last_child[row->parent] == row->id;
}

/* Levels that leave room for a name, and for the number of levels that are not drawn. */
static uint32_t branch_max(const struct tree *tree)
{
    size_t others = NAME_MIN + sizeof "(+999)";
    size_t levels = tree->room > others ? (tree->room - others) / tree->branches->width : 1;
    return tree->room && levels < BRANCH_MAX ? (uint32_t)levels : BRANCH_MAX;
}

/* Returns the columns that they take. */
static size_t put_branches(struct tree *tree, const struct dw_row *row)
{
    const struct branches *branches = tree->branches;
    const struct dw_row *line[BRANCH_MAX];
    uint32_t count = 0, most = branch_max(tree);
    size_t before = 0;
    const struct dw_row *at = row;
    for (; at->parent != DW_ROW_NONE && count < most; at = &tree->rows.rows[at->parent])
        line[count++] = at;
    size_t width = count * branches->width;
    if (at->depth) {
        dw_out_printf(&tree->cell, "(+%u) ", at->depth);
        before = tree->cell.buffer.size;
        put_right(tree, 0);
    }
    while (count-- > 1)
        dw_out_text(tree->out, is_last(tree, line[count]) ? branches->none : branches->by);
    if (row->parent != DW_ROW_NONE)
        dw_out_text(tree->out, is_last(tree, row) ? branches->last : branches->next);
    return before + width;
}

static void put_name(struct tree *tree, const struct dw_row *row)
{
    size_t used = put_branches(tree, row);
    size_t width = tree->room > used + NAME_MIN ? tree->room - used : NAME_MIN;
    dw_row_put_label(&tree->cell, &tree->rows, row);
    dw_fit_put(tree->out, tree->cell.buffer.data, tree->cell.buffer.size, tree->room ? width : 0);
    dw_buffer_clear(&tree->cell.buffer);
}

static void put_row(struct tree *tree, const struct dw_row *row)
{
    uint64_t whole = dw_row_tree(&tree->rows, row)->total;
    double share = whole ? (double)row->total / (double)whole : 0;
    dw_rows_put_time(&tree->cell, &tree->rows, row->total);
    put_right(tree, 8);
    dw_out_fixed(&tree->cell, 100 * share, 1);
    dw_out_char(&tree->cell, '%');
    put_right(tree, 8);
    if (tree->has_bars) {
        dw_out_text(tree->out, "  ");
        put_bar(tree->out, share);
    }
    dw_out_u64(&tree->cell, dw_row_metric(&tree->rows, row).count);
    put_right(tree, 9);
    dw_rows_put_time(&tree->cell, &tree->rows, row->self);
    put_right(tree, 10);
    dw_out_text(tree->out, "  ");
    put_name(tree, row);
    dw_out_char(tree->out, '\n');
}

static void put_left_out(struct tree *tree)
{
    const struct dw_rows *rows = &tree->rows;
    if (rows->left_out)
        dw_out_printf(tree->out, "(%u more)\n", rows->left_out);
    if (!rows->small)
        return;
    dw_out_printf(tree->out, "(%u more of less than %g %% each, together ", rows->small,
                  100 * rows->threshold);
    dw_rows_put_time(tree->out, rows, rows->small_total);
    dw_out_text(tree->out, ")\n");
}

static void put_tree(struct tree *tree)
{
    const struct dw_rows *rows = &tree->rows;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->rows[i].parent != DW_ROW_NONE)
            tree->last_child[rows->rows[i].parent] = i;
    if (rows->are_samples)
        dw_notes_put_sampling(tree->out, rows->profile, "");
    dw_rows_put_whole(tree->out, rows);
    dw_out_printf(tree->out, "   total   share%*s%9s      self  name\n",
                  tree->has_bars ? BAR_WIDTH : 0, "", rows->are_samples ? "samples" : "count");
    for (uint32_t i = 0; i < rows->count && !tree->out->error; i++)
        put_row(tree, &rows->rows[i]);
    put_left_out(tree);
    dw_notes_put_losses(tree->out, rows->profile, "");
}

static int write_tree(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    bool has_bars = !options->width || options->width >= WIDE_FROM;
    size_t before = NUMBERS_WIDTH + (has_bars ? BAR_WIDTH : 0);
    struct tree tree = {.out = out,
                        .has_bars = has_bars,
                        .branches = has_bars ? &long_branches : &short_branches,
                        .room = options->width > before ? options->width - before : options->width};
    dw_out_init_memory(&tree.cell);
    int error = dw_rows_make(profile, options, &tree.rows);
    if (!error) {
        tree.last_child = calloc(tree.rows.count + 1u, sizeof *tree.last_child);
        error = tree.last_child ? 0 : DW_ERR_MEMORY;
    }
    if (!error)
        put_tree(&tree);
    int cell_error = dw_out_close(&tree.cell);
    dw_rows_release(&tree.rows);
    free(tree.last_child);
    return error ? error : cell_error;
}

const struct dw_lens dw_lens_tree = {
    .name = "tree",
    .summary = "a tree with bars, for people",
    .write = write_tree,
};
