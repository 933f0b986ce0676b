/* SPDX-License-Identifier: MIT
 * Samples added up by function, line or module, in the order that was asked for. */
#ifndef DW_LENS_VIEW_SAMPLE_LIST_H
#define DW_LENS_VIEW_SAMPLE_LIST_H

#include "lens/lens.h"
#include "lens/view/place_spots.h"
#include "lens/view/stack_tree.h"

#include <regex.h>

enum dw_sample_sort {
    DW_SAMPLES_SORT_SELF,
    DW_SAMPLES_SORT_TOTAL,
    DW_SAMPLES_SORT_COUNT,
    DW_SAMPLES_SORT_NAME
};

struct dw_sample_options {
    enum dw_spot by;
    enum dw_sample_sort sort; /* largest first; names in order */
    uint64_t limit;           /* rows at most; 0: all */
    const regex_t *match;     /* of labels; NULL: all */
    bool full_paths;
};

struct dw_sample_row {
    const struct dw_place *place; /* one of those added up */
    struct dw_stack_sums self, total;
    /* Weight of samples of which this is the innermost Python code or, of native code, the
     * innermost of all: how it was spent. */
    uint64_t python, native, waiting;
    uint64_t idle_self, idle_total; /* the part in which idle threads waited */
    const char *label;
};

struct dw_sample_list {
    struct dw_stack_tree tree;
    enum dw_spot by;
    bool are_counts;
    /* In lists of lines, how time was spent: whether it is known what ran, and what waited. */
    bool tells_running, tells_waiting;
    struct dw_stack_sums all;
    uint32_t threads, idle_threads;
    struct dw_sample_row *rows;
    uint32_t count;
    uint32_t left_out;    /* rows beyond the limit */
    struct dw_out labels; /* of all rows, each with a NUL behind it */
};

int dw_sample_list_make(const struct dw_profile *profile, const struct dw_sample_options *options,
                        struct dw_sample_list *list);
void dw_sample_list_release(struct dw_sample_list *list);

/* Reports of samples, which are not in the list of lenses: they want options->samples. */
extern const struct dw_lens dw_sample_table, dw_sample_csv, dw_sample_json;

#endif
