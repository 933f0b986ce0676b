/* SPDX-License-Identifier: MIT
 * Two profiles compared: what got slower or faster, is new or gone, ranked by how
 * much of the change comes from it. That is its own time: a caller's whole time
 * changes with that of its callees, and would hide where the change comes from.
 * Memory is compared in the same way; what is called time here is bytes then. */
#ifndef DW_LENS_DIFF_DIFF_H
#define DW_LENS_DIFF_DIFF_H

#include "base/out.h"
#include "lens/diff/diff_tree.h"

enum dw_diff_by {
    DW_DIFF_FUNCTION, /* in recordings without calls: regions by name */
    DW_DIFF_LINE,
    DW_DIFF_PATH,
    DW_DIFF_REGION, /* the paths of regions; calls count as the region around them */
    DW_DIFF_BYS
};

enum dw_diff_sort { DW_DIFF_CHANGE, DW_DIFF_RATIO, DW_DIFF_BY_OLD, DW_DIFF_BY_NEW };

struct dw_diff_options {
    enum dw_diff_by by;
    enum dw_diff_sort sort;
    bool normalise;   /* compare shares of the totals */
    double threshold; /* share of the larger total under which a change is noise */
    bool only_above;  /* list no rows under it */
    uint32_t limit;   /* rows listed at most; 0: all */
    enum dw_side width;
    const char *files[DW_SIDES]; /* what to call the profiles */
};

struct dw_diff_row {
    uint32_t place;
    uint32_t node; /* the path, or that on which its own time changed most; DW_DIFF_NONE: none */
    uint32_t lines[DW_SIDES];         /* of rows of lines */
    struct dw_string texts[DW_SIDES]; /* their text, where it is known */
    struct dw_diff_sums at[DW_SIDES];
    bool is_in[DW_SIDES];
    /* Nanoseconds of the new profile; the old one is scaled to it when normalised. */
    double change;       /* of own time: the two below together */
    double from_calls;   /* because it was called more or less often */
    double from_speed;   /* because each call took more or less time */
    double change_total; /* of the time with what is inside */
};

struct dw_diff {
    const struct dw_profile *profiles[DW_SIDES];
    struct dw_diff_options options;
    enum dw_family family; /* what is compared */
    struct dw_diff_places places;
    struct dw_diff_tree tree; /* empty in a diff of lines that were watched */
    struct dw_diff_row *rows; /* in the order asked for */
    uint32_t *by_change;      /* the rows by contribution to the change, largest first */
    uint32_t count, capacity;
    uint32_t shown; /* rows to list; those behind are under the threshold or over the limit */
    uint64_t totals[DW_SIDES];
    double scale;     /* of the old numbers: 1, or what makes the totals equal */
    bool are_samples; /* counts are of samples: how often something was called is not known */
    bool are_bytes;   /* of memory, which are in place of samples: model/prepare/shown_measure.h */
    double period;    /* bytes from one sample of allocations to the next; 0: each was counted */
};

/* "function" and so on; NULL ends the list. */
extern const char *const dw_diff_by_names[DW_DIFF_BYS + 1];

/* Whether the profile holds what such a diff compares. */
bool dw_diff_has(const struct dw_profile *profile, enum dw_diff_by by);

/* The profiles and texts of the options must outlive the diff. */
int dw_diff_make(const struct dw_profile *old, const struct dw_profile *new,
                 const struct dw_diff_options *options, struct dw_diff *diff);
void dw_diff_release(struct dw_diff *diff);

/* The rows of lines, in diff_lines.c. */
int dw_diff_add_lines(struct dw_diff *diff);
/* A new row of zeros, or NULL; valid until the next. */
struct dw_diff_row *dw_diff_add_row(struct dw_diff *diff, uint32_t place, uint32_t node);
/* Sets the changes of the row by the sums of its sides. */
void dw_diff_compare(const struct dw_diff *diff, struct dw_diff_row *row);

/* Own time of a side, in nanoseconds on the scale of the new profile. */
static inline double dw_diff_self(const struct dw_diff *diff, const struct dw_diff_row *row,
                                  enum dw_side side)
{
    return (double)row->at[side].self * (side == DW_OLD ? diff->scale : 1);
}
/* The time of all that has that name, with what is inside, on the scale of the new profile;
 * false when nothing has it. */
bool dw_diff_times_of(const struct dw_diff *diff, const char *name, double times[DW_SIDES]);
double dw_diff_total_change(const struct dw_diff *diff);
/* What a change is compared with: the larger total. */
double dw_diff_whole(const struct dw_diff *diff);

/* How far apart two numbers are by chance, as a standard deviation: what sampled allocations of
 * that many bytes add up to is right on the average. 0 for all other numbers. */
double dw_diff_doubt(const struct dw_diff *diff, double old, double new);
/* The words for more and for less: "slower" and "faster", or "larger" and "smaller". */
const char *dw_diff_word(const struct dw_diff *diff, bool is_more);
/* "ns" or "bytes". */
const char *dw_diff_unit(const struct dw_diff *diff);

#define DW_DIFF_CAUSES_MAX 3

/* Indices of the rows, largest contribution first; returns how many. None when no change is
 * worth naming. */
uint32_t dw_diff_causes(const struct dw_diff *diff, uint32_t rows[DW_DIFF_CAUSES_MAX]);
/* "called 3x more often", "each call 2.1x slower", "new", "gone". */
void dw_diff_put_reason(struct dw_out *out, const struct dw_diff *diff,
                        const struct dw_diff_row *row);
/* "parse → tokenise": the row and what it is called from. */
void dw_diff_put_where(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row);

/* Why the total changed, in one sentence without a full stop or a line end. */
int dw_diff_put_sentence(struct dw_out *out, const struct dw_diff *diff);

/* "1.234 s" or "1.2 MiB". */
void dw_diff_put_amount(struct dw_out *out, const struct dw_diff *diff, double amount);
/* "+1.234 s", or in a normalised diff "+12.3 %" of the total. */
void dw_diff_put_change(struct dw_out *out, const struct dw_diff *diff, double ns);
/* One line of at most 80 characters. */
void dw_diff_put_short(struct dw_out *out, struct dw_string text);
/* "x.py:12(f)", "x.py:14 total += x", "a > b": what the row is. */
void dw_diff_put_row_name(struct dw_out *out, const struct dw_diff *diff,
                          const struct dw_diff_row *row);
/* The innermost nodes of a path, at most `max`, outermost first; returns how many. */
uint32_t dw_diff_spell(const struct dw_diff *diff, uint32_t node, uint32_t max, uint32_t *nodes);
/* "old: 2 events were dropped", a line each. */
void dw_diff_put_losses(struct dw_out *out, const struct dw_diff *diff, const char *prefix);

/* The forms of output. */
int dw_diff_write_table(const struct dw_diff *diff, struct dw_out *out);
int dw_diff_write_json(const struct dw_diff *diff, struct dw_out *out);
int dw_diff_write_flame(const struct dw_diff *diff, struct dw_out *out);

#endif
