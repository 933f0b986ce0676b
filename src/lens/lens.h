/* SPDX-License-Identifier: MIT
 * A lens turns a profile into one form of output. It sees the profile const and
 * an output, never a file. Adding one is a file here, which defines its struct
 * dw_lens, and a line in lens.c. */
#ifndef DW_LENS_LENS_H
#define DW_LENS_LENS_H

#include "base/out.h"
#include "model/profile.h"

/* What the rows of a tabular lens stand for. */
enum dw_by {
    DW_BY_REGION,  /* the tree of regions, all threads and processes merged */
    DW_BY_THREAD,  /* one tree for each thread */
    DW_BY_PROCESS, /* one tree for each process */
    DW_BY_PATH,    /* a flat list of whole paths */
    DW_BY_NAME,    /* a flat list of names, wherever they are called from */
};

/* By its word: "region", "thread", ...; "function" stands for names. False for another word. */
bool dw_by_find(const char *word, enum dw_by *by);
/* The i-th word, NULL past the end. */
const char *dw_by_word(size_t index);

/* The measures that one probe fills: lens/view/measured.h. */
enum dw_family {
    DW_FAMILY_ANY, /* the first that there is */
    DW_FAMILY_SAMPLES,
    DW_FAMILY_CALLS,
    DW_FAMILY_MEMORY,
    DW_FAMILY_REGIONS,
    DW_FAMILY_HEAP,
    DW_FAMILIES
};

struct dw_lens_options {
    enum dw_family family;
    enum dw_by by;
    const char *const *columns; /* column ids (lens/column.h), or NULL for the lens's own */
    size_t column_count;
    const char *sort; /* a column id; NULL: by total time, largest first */
    size_t limit;     /* rows at most; 0: all */
    size_t width;     /* columns of the terminal that it is for; 0: any line may be long */
    double threshold; /* trees for people: smaller shares of the whole are left out; 0: none */
    bool only_totals; /* by thread or process: one row for each, in place of its tree */
    bool with_lines;  /* of samples: functions with the lines that they had reached */
    const char *const *labels; /* keys whose values stacks begin with (collapsed) */
    size_t label_count;
    const struct dw_function_options *functions; /* of tables of functions (function_list.h) */
    const struct dw_line_options *lines;         /* of reports of lines (line_list.h), or NULL */
    const struct dw_view_options *view;          /* of the view (lens/view/view.h) */
};

struct dw_lens {
    const char *name;
    const char *summary;
    const char *extension; /* of files that hold it; NULL when it is for people to read */
    bool needs_events;     /* the profile must be read with DW_READ_EVENTS */
    bool binary;           /* the output is not text */
    bool shows_lines;      /* and not only calls and regions */
    bool shows_timings;    /* the same */
    bool shows_places;     /* lines of functions, so that debug information is worth reading */
    bool shows_snapshots;  /* several of one heap, each as a thread */
    bool shows_both;       /* samples and regions, of recordings that have them */
    bool lacks_notes;      /* has no place for how samples were taken: say so elsewhere */
    /* 0 or an error; trouble with the output itself is sticky in `out`. */
    int (*write)(const struct dw_profile *profile, const struct dw_lens_options *options,
                 struct dw_out *out);
};

/* NULL when no lens has that name. */
const struct dw_lens *dw_lens_find(const char *name);
/* Whether there is a name before that end of it. */
bool dw_file_ends_with(const char *path, const char *end);
/* The lens whose files have names like this, such as x.speedscope.json, or NULL. */
const struct dw_lens *dw_lens_of_file(const char *path);
/* The i-th lens, NULL past the end. */
const struct dw_lens *dw_lens_at(size_t index);

#endif
