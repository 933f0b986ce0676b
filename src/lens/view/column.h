/* SPDX-License-Identifier: MIT
 * The columns of the tabular lenses, by the names that region_profiler gave
 * them and some of our own. One table says all about each. */
#ifndef DW_LENS_VIEW_COLUMN_H
#define DW_LENS_VIEW_COLUMN_H

#include "lens/view/row.h"

enum dw_column_kind {
    DW_COLUMN_TEXT,
    DW_COLUMN_NUMBER,
    DW_COLUMN_TIME,    /* with a unit, for people */
    DW_COLUMN_TIME_US, /* whole microseconds, rounded down */
    DW_COLUMN_SHARE,   /* percents of the total of the row's tree */
};

typedef uint64_t dw_column_get(const struct dw_row *row, const struct dw_metric *metric);
typedef void dw_column_put_text(struct dw_out *out, const struct dw_rows *rows,
                                const struct dw_row *row);

struct dw_column {
    const char *id;     /* what selects it */
    const char *name;   /* its header in data: "id" for node_id; selects it too */
    const char *header; /* its header for people */
    enum dw_column_kind kind;
    dw_column_get *get;       /* of all kinds but TEXT: the number, also to sort by */
    dw_column_put_text *text; /* of TEXT */
    bool of_entries;          /* means nothing for samples, which do not begin and end */
};

/* NULL when no column has that name. */
const struct dw_column *dw_column_find(const char *id);
/* The i-th column, NULL past the end. */
const struct dw_column *dw_column_at(size_t index);

/* The columns that the options ask for, or else those of the list of ids that ends with NULL.
 * The array is to be freed. DW_ERR_ARGUMENT when one is unknown. */
int dw_columns_choose(const struct dw_lens_options *options, const char *const *otherwise,
                      const struct dw_column ***columns, size_t *count);

/* The text of the cell, as it is. The lens escapes it. */
void dw_column_put(const struct dw_column *column, struct dw_out *out, const struct dw_rows *rows,
                   const struct dw_row *row, const struct dw_metric *metric);

/* A time of the rows: a duration, or a number of samples when these stand for no known time. */
void dw_rows_put_time(struct dw_out *out, const struct dw_rows *rows, uint64_t ns);
/* A duration with four significant digits or so: "1.234 s", "56.78 ms", "987 ns". */
void dw_out_duration(struct dw_out *out, uint64_t ns);
/* "512 B", "1.234 KiB", "56.78 MiB". */
/* A time since the start: "12.5 s", "3:20 min", "1:03:20 h"; seconds have so many decimals. */
void dw_out_moment(struct dw_out *out, double ns, int decimals);
void dw_out_bytes(struct dw_out *out, uint64_t bytes);
/* Computed nanoseconds as a whole number: 0 when negative, the largest when 64 bits are too few. */
uint64_t dw_whole_ns(double ns);

#endif
