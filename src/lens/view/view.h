/* SPDX-License-Identifier: MIT
 * The one view: keys by measures, matched, sorted, limited. Whatever was measured can be told apart
 * by whatever is known: the CPU time of samples by thread and function, calls by region, entries
 * and samples of one region side by side. */
#ifndef DW_LENS_VIEW_VIEW_H
#define DW_LENS_VIEW_VIEW_H

#include "lens/lens.h"
#include "lens/view/key.h"
#include "lens/view/restriction.h"

#define DW_VIEW_KEYS_MAX 8

struct dw_view_label {
    const char *key, *value;
};

struct dw_view_options {
    const char *keys[DW_VIEW_KEYS_MAX];
    uint32_t key_count;
    enum dw_measure measures[DW_MEASURES]; /* what is shown; when empty, the usual ones are */
    uint32_t measure_count;
    enum dw_family family; /* whose measures are shown when none are asked for; any: of all */
    bool is_sampled_list;  /* samples alone: shares, seconds, and how the time was spent */
    bool full_paths;       /* else files are as short as tells rows apart */
    uint32_t sort;         /* index into the measures; past them: by name */
    bool by_total;         /* sorted by total, not by self */
    struct dw_view_label labels[DW_VIEW_KEYS_MAX]; /* rows must have these */
    uint32_t label_count;
    struct dw_restrictions restrictions; /* of rows; a pattern is of the name of any key */
    bool leaves_out_none; /* leave out rows that have nothing of the first measure themselves */
};

/* The table of samples: by function, line or module. */
static inline struct dw_view_options dw_view_of_samples(const char *key,
                                                        struct dw_restrictions restrictions)
{
    return (struct dw_view_options){.keys = {key},
                                    .key_count = 1,
                                    .family = DW_FAMILY_SAMPLES,
                                    .is_sampled_list = true,
                                    .restrictions = restrictions};
}

struct dw_view_number {
    uint64_t self;  /* on the key itself */
    uint64_t total; /* with what is under it, once in recursion */
};

/* Numbers that rows have behind those of the measures. */
enum dw_view_part {
    DW_VIEW_IDLE, /* of the weight of samples: that in which idle threads waited */
    /* Own weight of samples of which this is the innermost Python code or, of native code, the
     * innermost of all: how it was spent. */
    DW_VIEW_PYTHON,
    DW_VIEW_NATIVE,
    DW_VIEW_WAITING,
    DW_VIEW_PRIMITIVE, /* calls that were inside no other of the same */
    DW_VIEW_PARTS
};

struct dw_view_row {
    dw_key_value keys[DW_VIEW_KEYS_MAX];
    const char *names[DW_VIEW_KEYS_MAX];
    const struct dw_place *place;   /* one of those that the key of places puts together */
    struct dw_view_number *numbers; /* one for each measure, then one for each part */
};

struct dw_view {
    const struct dw_profile *profile;
    struct dw_view_options options; /* with the measures that were chosen */
    const struct dw_key *keys[DW_VIEW_KEYS_MAX];
    dw_string_id labels[DW_VIEW_KEYS_MAX];
    const struct dw_key *matched[DW_VIEW_KEYS_MAX]; /* of the labels that rows must have */
    dw_string_id matched_labels[DW_VIEW_KEYS_MAX];
    int place_key;   /* which key is of places; -1: no key is, and self and total are the same */
    uint32_t weight; /* the measure that samples are weighed by; measure_count: it is not shown */
    /* Whether it is known of samples what ran, and what waited. */
    bool tells_running, tells_waiting;
    uint32_t threads, idle_threads; /* that were sampled */
    struct dw_view_row *rows;
    uint32_t count, capacity;
    uint32_t left_out;         /* rows beyond a limit */
    uint64_t all[DW_MEASURES]; /* of each measure: the sum over everything that matches labels */
    struct dw_out names;       /* of all rows, each with a NUL behind it */
    struct dw_map index;
};

/* The measures of the family that are shown when none are asked for. Regions are entered nowhere
 * in code, so a view by places has none of theirs. */
void dw_view_choose_measures(const struct dw_profile *profile, struct dw_view_options *options,
                             bool of_places);
/* 0, DW_ERR_MEMORY, or DW_ERR_ARGUMENT for a key that is not known or a second key of places. */
int dw_view_make(const struct dw_profile *profile, const struct dw_view_options *options,
                 struct dw_view *view);
void dw_view_release(struct dw_view *view);

/* Whether self and total of a measure can differ. */
bool dw_view_has_self(const struct dw_view *view, uint32_t measure);
/* One of the parts of a row. */
static inline const struct dw_view_number *
dw_view_part(const struct dw_view *view, const struct dw_view_row *row, enum dw_view_part part)
{
    return &row->numbers[view->options.measure_count + part];
}

/* Where the code of a row is; what is not known, or not the same for all of it, is empty. */
struct dw_view_where {
    struct dw_string name, file, module;
    uint32_t line;
};
struct dw_view_where dw_view_where(const struct dw_view *view, const struct dw_view_row *row);

/* Steps of dw_view_make, in files of their own: what rows are called, in which order they come and
 * which of them stay. */
int dw_view_name_rows(struct dw_view *view);
void dw_view_choose_rows(struct dw_view *view);

#endif
