/* SPDX-License-Identifier: MIT
 * What was measured on the lines of functions: a row for each line, one for each
 * callee that a line called, and one (line 0) for the function as a whole. Probes
 * share the rows; each fills the metrics that it knows. */
#ifndef DW_MODEL_LINE_TABLE_H
#define DW_MODEL_LINE_TABLE_H

#include "model/frame_table.h"

/* Numbers are part of the log format. Times are nanoseconds. */
enum dw_line_metric {
    DW_LINE_HITS = 0,      /* times that the line began; of a function or callee: calls */
    DW_LINE_TIME = 1,      /* while it was its function's innermost line: these add up to the
                              function's time, in recursion too */
    DW_LINE_SELF = 2,      /* in none of the callees that were measured */
    DW_LINE_INCLUSIVE = 3, /* from its begin to its end, what it recurses into included, once */
    DW_LINE_SUSPENDED = 4, /* in which a generator or task slept on it */
    DW_LINE_SAMPLES = 5,   /* samples on it, innermost or not; once each in recursion */
    DW_LINE_TOTAL = 6,     /* the time they stand for */
    DW_LINE_PYTHON = 7,    /* of it: the interpreter ran, with this as the innermost Python line */
    DW_LINE_NATIVE = 8,    /* the same: native code or the kernel worked under it */
    DW_LINE_WAITING = 9,   /* the same: it did not run; for the GIL included */
    DW_LINE_MEMORY = 10,   /* resident bytes: the most after it; of a function: before its lines */
    DW_LINE_GROWTH = 11,   /* by how much they grew from its begin to its end */
    DW_LINE_SHRINKING = 12,
    DW_LINE_ALLOCATED = 13, /* bytes, by it and by what it called, once in recursion */
    DW_LINE_FREED = 14,     /* of these: freed since, by whomever */
    DW_LINE_KEPT = 15,      /* of these: there at the end */
    DW_LINE_PEAK = 16,      /* of these: there when the process had most */
    DW_LINE_RISE = 17,      /* by how much live memory rose at most while it ran */
    DW_LINE_METRICS
};

struct dw_line {
    dw_frame_id function;
    uint32_t line;      /* 0: the function as a whole */
    dw_frame_id callee; /* 0: the line itself */
    uint64_t values[DW_LINE_METRICS];
};

struct dw_line_table {
    struct dw_line *lines; /* a line that never ran has a row of zeros */
    uint32_t count, capacity;
    struct dw_map index;
};

void dw_line_table_release(struct dw_line_table *table);
/* The row of that line itself, or NULL. */
struct dw_line *dw_line_find(const struct dw_line_table *table, dw_frame_id function,
                             uint32_t line);
/* The row of that key, made when absent; NULL when out of memory. Valid until the next call. */
struct dw_line *dw_line_get(struct dw_line_table *table, dw_frame_id function, uint32_t line,
                            dw_frame_id callee);
/* Adds the values of one to those of the same key in the table. */
int dw_line_add(struct dw_line_table *table, const struct dw_line *from);

#endif
