/* SPDX-License-Identifier: MIT
 * The one view: keys by measures, matched, sorted, limited. Whatever was measured can be told apart
 * by whatever is known: the CPU time of samples by thread and function, calls by region, entries
 * and samples of one region side by side. */
#ifndef DW_LENS_VIEW_VIEW_H
#define DW_LENS_VIEW_VIEW_H

#include "lens/view/key.h"

#include <regex.h>

#define DW_VIEW_KEYS_MAX 8

struct dw_view_label {
    const char *key, *value;
};

struct dw_view_options {
    const char *keys[DW_VIEW_KEYS_MAX];
    uint32_t key_count;
    enum dw_measure measures[DW_MEASURES]; /* none: those that the profile has most of use for */
    uint32_t measure_count;
    uint32_t sort;                                 /* index into the measures; past them: by name */
    bool by_total;                                 /* sorted by total, not by self */
    const regex_t *match;                          /* of the names of the keys; NULL: all */
    struct dw_view_label labels[DW_VIEW_KEYS_MAX]; /* rows must have these */
    uint32_t label_count;
    uint64_t limit;       /* rows at most; 0: all */
    bool leaves_out_none; /* rows that have nothing of the first measure themselves */
};

struct dw_view_number {
    uint64_t self;  /* on the key itself */
    uint64_t total; /* with what is under it, once in recursion */
};

struct dw_view_row {
    dw_key_value keys[DW_VIEW_KEYS_MAX];
    const char *names[DW_VIEW_KEYS_MAX];
    struct dw_view_number *numbers; /* one for each measure */
};

struct dw_view {
    const struct dw_profile *profile;
    struct dw_view_options options; /* with the measures that were chosen */
    const struct dw_key *keys[DW_VIEW_KEYS_MAX];
    dw_string_id labels[DW_VIEW_KEYS_MAX];
    const struct dw_key *matched[DW_VIEW_KEYS_MAX]; /* of the labels that rows must have */
    dw_string_id matched_labels[DW_VIEW_KEYS_MAX];
    int place_key; /* which key is of places; -1: none, and self and total are the same */
    struct dw_view_row *rows;
    uint32_t count, capacity;
    uint32_t left_out;         /* rows beyond the limit */
    uint64_t all[DW_MEASURES]; /* of each measure: the sum over everything that matches labels */
    struct dw_out names;       /* of all rows, each with a NUL behind it */
    struct dw_map index;
};

/* The measures that are shown when none are asked for; returns how many. Regions are entered
 * nowhere in code, so a view by places has none of theirs. */
uint32_t dw_view_default_measures(const struct dw_profile *profile, bool of_places,
                                  enum dw_measure measures[DW_MEASURES]);
/* 0, DW_ERR_MEMORY, or DW_ERR_ARGUMENT for a key that is not known or a second key of places. */
int dw_view_make(const struct dw_profile *profile, const struct dw_view_options *options,
                 struct dw_view *view);
void dw_view_release(struct dw_view *view);

/* Whether self and total of a measure can differ. */
bool dw_view_has_self(const struct dw_view *view, uint32_t measure);

#endif
