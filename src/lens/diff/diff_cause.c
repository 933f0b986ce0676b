/* SPDX-License-Identifier: MIT
 * The few rows that make most of a change, each told in a sentence: what changed, by how much, and
 * whether it ran more often or took longer. */
#include "lens/diff/diff.h"

#include <math.h>

#define NOTHING_NS 100000.0   /* a change that no two runs are without */
#define NOTHING_BYTES 16384.0 /* the same of memory */
#define EXPLAINED 0.2         /* of the change may stay unexplained */
#define UNEXPLAINED 0.5       /* of the change: so much is worth a word */
#define SMALLEST 0.1          /* of the largest cause: less is not a cause */
#define SMALLEST_SHARE 0.3    /* the same of shares: what one gains the others lose */
#define PARTLY (1.0 / 3)      /* of a row's change: less of it is not a reason */
#define ALIKE 0.1             /* two ratios that differ less are the same */
#define LIKELY 2              /* standard deviations: one in twenty is beyond by chance */
#define MOST 0.5              /* of a row's change: a path that makes more is why it changed */

static double nothing(const struct dw_diff *diff)
{
    return diff->are_bytes ? NOTHING_BYTES : NOTHING_NS;
}

static bool is_noise(const struct dw_diff *diff, double change)
{
    return fabs(change) < fmax(diff->options.threshold * dw_diff_whole(diff), nothing(diff));
}

/* What may be chance is no cause. */
static bool is_cause(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    double old = dw_diff_self(diff, row, DW_OLD), new = dw_diff_self(diff, row, DW_NEW);
    return !is_noise(diff, row->change) &&
           fabs(row->change) > LIKELY * dw_diff_doubt(diff, old, new);
}

/* Whether there are changes that would be causes if they took longer. */
static bool is_too_little(const struct dw_diff *diff)
{
    double largest = diff->count ? fabs(diff->rows[diff->by_change[0]].change) : 0;
    return largest > 0 && largest >= diff->options.threshold * dw_diff_whole(diff);
}

uint32_t dw_diff_causes(const struct dw_diff *diff, uint32_t rows[DW_DIFF_CAUSES_MAX])
{
    double total = diff->options.normalise ? 0 : dw_diff_total_change(diff), explained = 0;
    double largest = diff->count ? diff->rows[diff->by_change[0]].change : 0;
    double smallest = diff->options.normalise ? SMALLEST_SHARE : SMALLEST;
    uint32_t count = 0;
    while (count < DW_DIFF_CAUSES_MAX && count < diff->count) {
        double change = diff->rows[diff->by_change[count]].change;
        if (!is_cause(diff, &diff->rows[diff->by_change[count]]) ||
            fabs(change) < smallest * fabs(largest))
            break;
        if (count && fabs(total - explained) <= EXPLAINED * fabs(total))
            break;
        rows[count] = diff->by_change[count];
        explained += change;
        count++;
    }
    return count;
}

/* "3x more", "8 % less": how a number changed, by the words for up and down. */
static void put_ratio(struct dw_out *out, double ratio, const char *up, const char *down)
{
    bool rises = ratio >= 1;
    double times = rises ? ratio : 1 / ratio;
    if (times < 1.1)
        dw_out_printf(out, "%.*f %%", times < 1.01, 100 * fabs(ratio - 1));
    else if (times >= 9.95 || fabs(times - round(times)) < 0.05)
        dw_out_printf(out, "%.0fx", times);
    else
        dw_out_printf(out, "%.1fx", times);
    dw_out_printf(out, " %s", rises ? up : down);
}

struct verbs {
    const char *called, *each;
};

static struct verbs verbs_of(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    uint32_t kind = diff->places.places[row->place].kind;
    if (diff->are_samples)
        return (struct verbs){diff->are_bytes ? "allocated " : "seen ", ""};
    if (diff->options.by == DW_DIFF_LINE)
        return (struct verbs){"run ", "each time "};
    if (kind == DW_FRAME_REGION)
        return (struct verbs){"entered ", "each time "};
    return (struct verbs){"called ", "each call "};
}

static double calls_ratio(const struct dw_diff *diff, const struct dw_diff_sums at[DW_SIDES])
{
    return (double)at[DW_NEW].count / (diff->scale * (double)at[DW_OLD].count);
}

/* The outermost node over the row's path that is new or gone, or whose calls changed as the
 * row's did: what is called by it is called more often because it is. */
static uint32_t reason_above(const struct dw_diff *diff, const struct dw_diff_row *row,
                             bool *appeared)
{
    const struct dw_diff_node *nodes = diff->tree.nodes;
    uint32_t above = DW_DIFF_NONE;
    *appeared = false;
    if (row->node == DW_DIFF_NONE || !row->node)
        return above;
    double ratio = calls_ratio(diff, nodes[row->node].at);
    bool alike = true;
    for (uint32_t at = nodes[row->node].parent; at; at = nodes[at].parent) {
        const struct dw_diff_place *place = &diff->places.places[nodes[at].place];
        if (nodes[at].place == row->place)
            continue;
        if (place->is_in[DW_OLD] != place->is_in[DW_NEW]) {
            above = at;
            *appeared = true;
        }
        alike = alike && nodes[at].at[DW_OLD].count &&
                fabs(log(calls_ratio(diff, nodes[at].at) / ratio)) < ALIKE;
        if (alike && !*appeared)
            above = at;
    }
    return above;
}

static void put_because(struct dw_out *out, const struct dw_diff *diff,
                        const struct dw_diff_row *row)
{
    bool appeared;
    uint32_t above = reason_above(diff, row, &appeared);
    if (above == DW_DIFF_NONE)
        return;
    const struct dw_diff_place *place = &diff->places.places[diff->tree.nodes[above].place];
    dw_out_text(out, ", because ");
    dw_diff_put_short(out, place->name);
    dw_out_text(out, !appeared ? " is" : place->is_in[DW_NEW] ? " is new" : " is gone");
}

static double more_calls(const struct dw_diff *diff, const struct dw_diff_sums at[DW_SIDES])
{
    return (double)at[DW_NEW].count - diff->scale * (double)at[DW_OLD].count;
}

/* What the reason is looked for in: the path that is named, when it makes most of the change, since
 * calls from elsewhere have nothing to do with it then. Unless these are the same calls: what only
 * has another caller now did not change because of that. */
static struct dw_diff_row what_changed(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    struct dw_diff_row path = *row;
    if (diff->options.by != DW_DIFF_FUNCTION || row->node == DW_DIFF_NONE)
        return *row;
    const struct dw_diff_node *node = &diff->tree.nodes[row->node];
    memcpy(path.at, node->at, sizeof path.at);
    memcpy(path.is_in, node->is_in, sizeof path.is_in);
    dw_diff_compare(diff, &path);
    bool is_most = fabs(row->change - path.change) < (1 - MOST) * fabs(row->change);
    bool has_moved = fabs(more_calls(diff, row->at)) < MOST * fabs(more_calls(diff, path.at));
    return is_most && !has_moved ? path : *row;
}

static void put_changed_samples(struct dw_out *out, const struct dw_diff *diff,
                                const struct dw_diff_row *row)
{
    double old = fmax(dw_diff_self(diff, row, DW_OLD), 1);
    double new = fmax(dw_diff_self(diff, row, DW_NEW), 1);
    put_ratio(out, new / old, diff->are_bytes ? "larger" : "longer",
              diff->are_bytes ? "smaller" : "shorter");
}

static void put_changed(struct dw_out *out, const struct dw_diff *diff,
                        const struct dw_diff_row *row)
{
    struct verbs verbs = verbs_of(diff, row);
    const struct dw_diff_sums *old = &row->at[DW_OLD], *new = &row->at[DW_NEW];
    double calls = calls_ratio(diff, row->at);
    double speed = ((double)new->self / (double)new->count) /
                   fmax((double)old->self / (double)old->count, 1e-3);
    bool by_calls = fabs(row->from_calls) > PARTLY * fabs(row->change);
    bool by_speed = fabs(row->from_speed) > PARTLY * fabs(row->change);
    if (by_calls) {
        dw_out_text(out, verbs.called);
        put_ratio(out, calls, "more often", "less often");
        put_because(out, diff, row);
    }
    if (by_speed) {
        bool once = old->count == 1 && new->count == 1;
        dw_out_text(out, by_calls ? "; " : "");
        dw_out_text(out, once ? "" : verbs.each);
        put_ratio(out, speed, "slower", "faster");
    }
}

/* How often something ran says little between runs that did different amounts of work. */
static void put_shares(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row)
{
    double percent = 100 / fmax(dw_diff_whole(diff), 1);
    dw_out_printf(out, "%.1f %% → %.1f %%", percent * dw_diff_self(diff, row, DW_OLD),
                  percent * dw_diff_self(diff, row, DW_NEW));
}

void dw_diff_put_reason(struct dw_out *out, const struct dw_diff *diff,
                        const struct dw_diff_row *row)
{
    const struct dw_diff_row of = what_changed(diff, row);
    bool was = of.is_in[DW_OLD] && of.at[DW_OLD].count;
    bool is = of.is_in[DW_NEW] && of.at[DW_NEW].count;
    if (was && is && diff->options.normalise) {
        put_shares(out, diff, row);
    } else if (was && is && diff->are_samples) {
        put_changed_samples(out, diff, &of);
    } else if (was && is) {
        put_changed(out, diff, &of);
    } else {
        bool appeared = is || !was;
        const struct dw_diff_place *place = &diff->places.places[row->place];
        bool known = place->is_in[DW_OLD] && place->is_in[DW_NEW];
        bool is_line = diff->options.by == DW_DIFF_LINE;
        dw_out_text(out, known && !is_line ? appeared ? "newly " : "no longer " : "");
        if (known && !is_line)
            dw_out_printf(out, "%.*s", (int)strcspn(verbs_of(diff, row).called, " "),
                          verbs_of(diff, row).called);
        else
            dw_out_text(out, appeared ? "new" : "gone");
        put_because(out, diff, row);
    }
}

/* <genexpr>, or max: it says little without the function around. */
static bool says_little(const struct dw_diff *diff, uint32_t node)
{
    const struct dw_diff_place *place = &diff->places.places[diff->tree.nodes[node].place];
    return place->kind != DW_FRAME_REGION && place->name.size && *place->name.bytes == '<';
}

static void put_name(struct dw_out *out, const struct dw_diff *diff, uint32_t place)
{
    dw_diff_put_short(out, diff->places.places[place].name);
}

static void put_line(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    enum dw_side side = row->is_in[DW_NEW] ? DW_NEW : DW_OLD;
    put_name(out, diff, row->place);
    if (row->lines[side])
        dw_out_printf(out, " line %u", row->lines[side]);
    if (!row->texts[side].size)
        return;
    dw_out_text(out, " `");
    dw_diff_put_short(out, row->texts[side]);
    dw_out_char(out, '`');
}

void dw_diff_put_where(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row)
{
    if (row->node == DW_DIFF_NONE) {
        put_line(out, diff, row);
        return;
    }
    const struct dw_diff_node *nodes = diff->tree.nodes;
    uint32_t caller = nodes[row->node].parent;
    while (caller && nodes[caller].place == row->place)
        caller = nodes[caller].parent;
    uint32_t above = caller;
    while (above && says_little(diff, above))
        above = nodes[above].parent;
    if (above && above != caller) {
        put_name(out, diff, nodes[above].place);
        dw_out_text(out, " → ");
    }
    if (caller) {
        put_name(out, diff, nodes[caller].place);
        dw_out_text(out, " → ");
    }
    put_name(out, diff, row->place);
}

/* Changes of one sentence have one unit and as many decimals as the total needs. */
struct scale {
    double size;
    const char *unit;
    int decimals;
};

static struct scale scale_of(const struct dw_diff *diff, double largest)
{
    double whole = dw_diff_whole(diff);
    struct scale scale = {1, "ns", 0};
    if (diff->options.normalise)
        scale = (struct scale){fmax(whole, 1) / 100, "%", 0};
    else if (diff->are_bytes)
        scale = whole >= 1 << 20   ? (struct scale){1 << 20, "MiB", 0}
                : whole >= 1 << 10 ? (struct scale){1 << 10, "KiB", 0}
                                   : (struct scale){1, "B", 0};
    else if (whole >= 1e9)
        scale = (struct scale){1e9, "s", 0};
    else if (whole >= 1e6)
        scale = (struct scale){1e6, "ms", 0};
    else if (whole >= 1e3)
        scale = (struct scale){1e3, "us", 0};
    double magnitude = largest > 0 ? floor(log10(largest / scale.size)) : 0;
    double decimals = magnitude < 0 ? 1 - magnitude : 2 - magnitude;
    scale.decimals = (int)fmin(fmax(decimals, 0), 6);
    return scale;
}

static void put_scaled(struct dw_out *out, const struct scale *scale, double change)
{
    dw_out_printf(out, "%+.*f %s", scale->decimals, change / scale->size, scale->unit);
}

static void put_causes(struct dw_out *out, const struct dw_diff *diff, const struct scale *scale,
                       const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct dw_diff_row *row = &diff->rows[rows[i]];
        dw_out_text(out, i ? ", " : "");
        put_scaled(out, scale, row->change);
        dw_out_text(out, " in ");
        dw_diff_put_where(out, diff, row);
        dw_out_text(out, " (");
        dw_diff_put_reason(out, diff, row);
        dw_out_char(out, ')');
    }
}

static double explained_by(const struct dw_diff *diff, const uint32_t *rows, uint32_t count)
{
    double explained = 0;
    for (uint32_t i = 0; i < count; i++)
        explained += diff->rows[rows[i]].change;
    return explained;
}

static const char *no_cause(const struct dw_diff *diff, double change)
{
    if (is_too_little(diff))
        return !diff->are_bytes   ? "too little time to judge (less than 0.1 ms)"
               : diff->period > 0 ? "within what samples may differ by chance; --memory=exact "
                                    "counts each allocation"
                                  : "too little memory to judge (less than 16 KiB)";
    return is_noise(diff, change) ? "no change worth naming"
                                  : "in many places, none of them worth naming";
}

int dw_diff_put_sentence(struct dw_out *out, const struct dw_diff *diff)
{
    uint32_t rows[DW_DIFF_CAUSES_MAX];
    uint32_t count = dw_diff_causes(diff, rows);
    double total = dw_diff_total_change(diff), change = diff->options.normalise ? 0 : total;
    double largest = fmax(fabs(total), count ? fabs(diff->rows[rows[0]].change) : 0);
    struct scale scale = scale_of(diff, largest);
    dw_out_text(out, diff->options.normalise ? "shares of the total" : "total ");
    if (!diff->options.normalise)
        put_scaled(out, &scale, total);
    dw_out_text(out, ": ");
    if (count)
        put_causes(out, diff, &scale, rows, count);
    if (count && !diff->options.normalise &&
        fabs(total - explained_by(diff, rows, count)) > UNEXPLAINED * fabs(total))
        dw_out_text(out, ", the rest in many places");
    if (!count)
        dw_out_text(out, no_cause(diff, change));
    return out->error;
}
