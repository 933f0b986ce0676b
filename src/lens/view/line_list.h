/* SPDX-License-Identifier: MIT
 * The functions whose lines were measured, each with its lines in order, blank ones and
 * comments included, and with the text that the file had then. */
#ifndef DW_LENS_VIEW_LINE_LIST_H
#define DW_LENS_VIEW_LINE_LIST_H

#include "lens/lens.h"
#include "lens/view/restriction.h"

/* The options of reports of lines: line_profiler's. */
struct dw_line_options {
    double unit_s;                       /* of times for people, in seconds */
    bool strip_zeros;                    /* leave out functions that never ran */
    bool details;                        /* the lines; without them there is only the summary */
    bool summarize;                      /* a line for each function at the end */
    bool sort;                           /* by total time, the largest last, not by file and line */
    bool callees;                        /* what a line called, under it */
    bool heat;                           /* as HTML that colours lines by their share of the time */
    struct dw_restrictions restrictions; /* of functions, named as "file:line(name)" */
};

/* What is meant by options->lines == NULL. */
extern const struct dw_line_options dw_line_defaults;

/* One line. */
struct dw_line_entry {
    uint32_t number;
    const struct dw_line *measured;       /* NULL: the line has no code */
    const struct dw_line *const *callees; /* the longest first */
    uint32_t callee_count;
    struct dw_string text; /* the bytes are NULL when the source has no such line */
};

enum dw_line_source {
    DW_LINE_SOURCE_FOUND,
    DW_LINE_SOURCE_MISSING,
    DW_LINE_SOURCE_SHORT,     /* it ends before the last line that was measured */
    DW_LINE_SOURCE_AMBIGUOUS, /* the recordings hold different ones; the first is shown */
};

/* A sentence about it, empty when it was found. */
const char *dw_line_source_note(enum dw_line_source source);

/* A function and its lines. */
struct dw_line_listing {
    dw_frame_id frame;
    struct dw_string file, name;
    uint32_t line; /* its first one */
    bool calls_known;
    uint64_t calls;
    uint64_t totals[DW_LINE_METRICS]; /* of all lines; `time` and `total` are the function's */
    uint64_t sampled;                 /* time of the samples in it, each once in recursion */
    bool recursive;                   /* some line's inclusive time is more than its time */
    bool has_callees;                 /* what it called was measured too */
    bool is_watched;                  /* its lines were measured, not only sampled */
    enum dw_line_source source;
    const struct dw_line *const *rows; /* of the table, by line; the line itself, its callees */
    uint32_t row_count;
    uint32_t first, count; /* of the list's entries */
};

/* The function's time, whoever measured it. */
static inline uint64_t dw_line_listing_time(const struct dw_line_listing *function)
{
    return function->totals[DW_LINE_TIME] ? function->totals[DW_LINE_TIME] : function->sampled;
}

struct dw_line_list {
    const struct dw_profile *profile;
    struct dw_line_listing *functions; /* by file, line and name, unless asked otherwise */
    uint32_t count;
    uint32_t left_out; /* functions that did not match, never ran, or were only sampled */
    bool is_sampled;   /* whether some function is */
    bool is_watched;   /* whether some function is; then others are left out */
    bool has_memory;   /* whether some line has */
    struct dw_line_entry *entries;
    uint32_t entry_count, entry_capacity;
    const struct dw_line **rows;
};

/* Without options the defaults. DW_ERR_NO_LINES when no lines were measured. */
int dw_line_list_make(const struct dw_profile *profile, const struct dw_line_options *options,
                      struct dw_line_list *list);
void dw_line_list_release(struct dw_line_list *list);

/* Whether lines were measured. */
static inline bool dw_lines_are_in(const struct dw_profile *profile)
{
    return profile->lines.count > 0;
}
/* Whether they were watched, not only sampled. */
bool dw_lines_are_watched(const struct dw_profile *profile);
/* Whether nothing but lines was measured. */
bool dw_lines_are_all(const struct dw_profile *profile);

/* Reports of lines as data, for `dwell report --by line`; the lens `lines` is for people. */
extern const struct dw_lens dw_lens_lines, dw_line_csv, dw_line_json;

#endif
