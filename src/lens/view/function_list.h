/* SPDX-License-Identifier: MIT
 * A list of functions in the order that was asked for and cut down as was asked
 * for, with the words and the meaning of pstats' sort_stats and print_stats. */
#ifndef DW_LENS_VIEW_FUNCTION_LIST_H
#define DW_LENS_VIEW_FUNCTION_LIST_H

#include "base/guess.h"
#include "base/room.h"
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/restriction.h"

#define DW_SORT_WORDS_MAX 8

/* What the words of a sort mean, the most significant first. */
struct dw_function_sort {
    uint8_t words[DW_SORT_WORDS_MAX];
    uint32_t count;
};

struct dw_function_options {
    struct dw_function_sort sort; /* none: by cumulative time */
    struct dw_restrictions restrictions;
    bool callers, callees; /* those instead of the functions' own numbers */
    bool full_paths;
};

/* "time,name": pstats' words, or as much of them as is enough to tell, or our own for the
 * same columns. DW_ERR_ARGUMENT when a word is not known. */
int dw_function_sort_parse(const char *text, struct dw_function_sort *sort);
/* The words, for people. */
const char *dw_function_sort_words(void);
/* Tries each of them. */
void dw_function_sort_guess(struct dw_guess *guess);

struct dw_function_list {
    struct dw_functions functions;
    bool are_samples; /* counts are of samples: how often something was called is not known */
    bool are_counts;  /* and so are times */
    uint32_t *order;  /* indices of the functions in the list */
    uint32_t count;
    struct dw_out labels; /* of all functions, each with a NUL behind it */
    size_t *label_start;
    struct dw_out message; /* what the order is and what was left out, in lines */
    struct dw_room room;
};

int dw_function_list_make(const struct dw_profile *profile, enum dw_family family,
                          const struct dw_function_options *options, struct dw_function_list *list);
void dw_function_list_release(struct dw_function_list *list);
const char *dw_function_list_label(const struct dw_function_list *list, uint32_t function);

/* Reports of functions, which are not in the list of lenses: they want options->functions. */
extern const struct dw_lens dw_function_table, dw_function_csv, dw_function_json;

#endif
