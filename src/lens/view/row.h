/* SPDX-License-Identifier: MIT
 * The rows that lenses of tables and trees share: the numbers of paths, merged as the options ask,
 * sorted, and in depth-first order. Times are nanoseconds. */
#ifndef DW_LENS_VIEW_ROW_H
#define DW_LENS_VIEW_ROW_H

#include "lens/lens.h"
#include "lens/view/speller.h"

#define DW_ROW_NONE UINT32_MAX

/* There may be a million of them, so what all rows of a tree have in common is in the tree, and
 * numbers that one thread measured are where the profile has them. */
struct dw_row {
    uint32_t id;           /* its place in the output */
    uint32_t parent;       /* a row, or DW_ROW_NONE */
    uint32_t depth;        /* 0 for the root of a tree, and in flat lists */
    uint32_t tree;         /* that it is in */
    dw_path_id path;       /* in a list by name: one path that ends with the frame */
    uint32_t joined : 31;  /* frames further up the path that this row stands for, too */
    uint32_t measured : 1; /* something was measured on it, not only under it */
    uint32_t thread;       /* whose numbers they are; DW_ROW_NONE: they were added up */
    uint32_t value;        /* a row of that thread; else 1 + index into the sums, or 0: none */
    uint64_t total;        /* of the outermost entries, in a list by name */
    uint64_t inner;        /* total less that of the rows directly under this one */
    uint64_t self;         /* active time in none of the entries directly inside */
};

struct dw_row_tree {
    uint32_t thread;  /* DW_ROW_NONE where several are merged */
    uint32_t process; /* likewise */
    uint64_t total;   /* what shares are of: the total of its root */
    /* The name of its root, when that is a thread or process; else NULL. */
    struct dw_string label;
};

struct dw_rows {
    const struct dw_profile *profile;
    enum dw_by by;
    bool is_flat;          /* a list: no row is under another */
    enum dw_family family; /* what was measured */
    bool are_samples;      /* counts are of samples */
    bool are_counts;       /* times are numbers of samples */
    bool are_bytes;        /* times are bytes */
    bool has_hosts;        /* processes ran on several */
    struct dw_row *rows;
    uint32_t count, capacity;
    struct dw_metric *sums;
    uint32_t sum_count, sum_capacity;
    uint32_t left_out;    /* rows beyond the limit */
    bool overlaps;        /* threads ran side by side: shares can be more than the whole */
    double threshold;     /* below it, rows were left out: */
    uint32_t small;       /* their number */
    uint64_t small_total; /* what they took; one that is under another counts once */
    struct dw_row_tree *trees;
    uint32_t tree_count, tree_capacity;
    struct dw_speller speller;
};

/* 0, DW_ERR_MEMORY, DW_ERR_TOO_LARGE, or DW_ERR_ARGUMENT for an unknown sort column. */
int dw_rows_make(const struct dw_profile *profile, const struct dw_lens_options *options,
                 struct dw_rows *rows);
void dw_rows_release(struct dw_rows *rows);
/* Leaves none of the rows, and all else. */
void dw_rows_clear(struct dw_rows *rows);

/* Of all entries: for count, average, percentiles. In a list by name, time suspended and CPU time
 * are of the outermost entries alone. A spread is borrowed. */
struct dw_metric dw_row_metric(const struct dw_rows *rows, const struct dw_row *row);
/* Adds to it; 0 or DW_ERR_MEMORY. */
int dw_row_add(struct dw_rows *rows, struct dw_row *row, const struct dw_metric *metric);

static inline const struct dw_row_tree *dw_row_tree(const struct dw_rows *rows,
                                                    const struct dw_row *row)
{
    return &rows->trees[row->tree];
}
/* The name of its frame, or that of its tree. */
struct dw_string dw_row_name(const struct dw_rows *rows, const struct dw_row *row);

/* The row's own name; in a list by path the whole path, "a > b > c". */
void dw_row_put_name(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row);
/* The same for people: with the file of a "<module>", with the frames that the row stands for, and
 * whether a thread is idle. */
void dw_row_put_label(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row);
/* The whole path without the root, also elsewhere. */
void dw_row_put_path(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row);

/* A line that says what shares are of, unless that is the root of the tree. */
void dw_rows_put_whole(struct dw_out *out, const struct dw_rows *rows);

/* The steps of dw_rows_make, in files of their own. */
struct dw_column;
/* Puts siblings (in a flat list: all rows) into the order of the column, by total when NULL,
 * and gives ids and depths in depth-first order. */
int dw_rows_sort(struct dw_rows *rows, const struct dw_column *column);
/* Turns the one tree of all paths into a flat list. */
int dw_rows_flatten_paths(struct dw_rows *rows);
int dw_rows_flatten_names(struct dw_rows *rows);
/* Keeps the roots of all trees, as a list. */
void dw_rows_flatten_trees(struct dw_rows *rows);
/* Leaves out rows of sorted trees whose share is below the threshold. A row that takes next to no
 * time itself and has one row under it is joined with that row. */
int dw_rows_prune(struct dw_rows *rows, double threshold);

#endif
