/* SPDX-License-Identifier: MIT
 * The columns of reports of lines. One table says all about each, for people, for data and
 * for the page, so a probe that fills another metric adds a line to it and nothing else. */
#ifndef DW_LENS_VIEW_LINE_COLUMN_H
#define DW_LENS_VIEW_LINE_COLUMN_H

#include "lens/view/line_list.h"

enum dw_line_form {
    DW_LINE_FORM_COUNT,
    DW_LINE_FORM_TIME,
    DW_LINE_FORM_PER_HIT, /* the time, divided by the hits */
    DW_LINE_FORM_SHARE,   /* the time, as percents of the function's */
    DW_LINE_FORM_BYTES,
    DW_LINE_FORM_INCREMENT, /* bytes that came, less those that went */
};

struct dw_line_column {
    const char *id;      /* in data; times have their unit behind it */
    const char *heading; /* for people */
    size_t width;        /* for people: at least so wide */
    enum dw_line_metric metric;
    enum dw_line_form form;
    unsigned needs; /* what a function must have to be shown with it: line_column.c */
    bool sparse;    /* zeros are not shown */
    const char *about;
};

/* The i-th column, NULL past the end. */
const struct dw_line_column *dw_line_column_at(size_t index);
/* Whether people are shown it for that function. */
bool dw_line_column_is_present(const struct dw_line_column *column,
                               const struct dw_line_listing *function);

/* Whether data has it: always, but for what only samples tell. Memory is in the view. */
bool dw_line_column_is_data(const struct dw_line_column *column, const struct dw_line_list *list);

#define DW_LINE_CELL_MAX 32
/* The cell for people, times in `unit_s`; empty when there is nothing to say. `line` is a line or
 * a callee of the function. */
void dw_line_column_show(const struct dw_line_column *column,
                         const struct dw_line_listing *function, const struct dw_line *line,
                         double unit_s, char cell[DW_LINE_CELL_MAX]);
/* The number that is behind the cell: nanoseconds, percents, bytes, a count. False when it has
 * none, as the share of a callee. */
bool dw_line_column_number(const struct dw_line_column *column,
                           const struct dw_line_listing *function, const struct dw_line *line,
                           double *number);

#endif
