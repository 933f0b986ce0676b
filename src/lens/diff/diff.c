/* SPDX-License-Identifier: MIT
 * Rows are paths, functions or lines; their order is that of their share of the change. */
#include "lens/diff/diff.h"

#include "base/grow.h"
#include "base/order.h"
#include "base/room.h"
#include "lens/view/functions.h"
#include "lens/view/line_list.h"
#include "lens/view/stack_tree.h"
#include "model/outermost.h"

#include <math.h>

/* The root is a region where nothing else could be around it: in a recording of regions. */
static bool has_regions(const struct dw_profile *profile)
{
    return dw_family_is_in(profile, DW_FAMILY_REGIONS) ||
           (dw_profile_measures(profile) & DW_ENTRY_MASK && !dw_functions_are_in(profile));
}

bool dw_diff_has(const struct dw_profile *profile, enum dw_diff_by by)
{
    switch (by) {
    case DW_DIFF_LINE:
        return dw_lines_are_watched(profile) || dw_family_is_in(profile, DW_FAMILY_SAMPLES);
    case DW_DIFF_REGION: return has_regions(profile);
    default: return has_regions(profile) || dw_functions_are_in(profile);
    }
}

struct dw_diff_row *dw_diff_add_row(struct dw_diff *diff, uint32_t place, uint32_t node)
{
    if (DW_GROW(diff->rows, diff->count, diff->capacity))
        return NULL;
    struct dw_diff_row *row = &diff->rows[diff->count++];
    *row = (struct dw_diff_row){.place = place, .node = node};
    return row;
}

static unsigned kinds_of(const struct dw_diff *diff)
{
    const unsigned calls = dw_diff_kind(DW_FRAME_FUNCTION) | dw_diff_kind(DW_FRAME_BUILTIN) |
                           dw_diff_kind(DW_FRAME_NATIVE) | dw_diff_kind(DW_FRAME_MARK) |
                           dw_diff_kind(DW_FRAME_TYPE) | dw_diff_kind(DW_FRAME_OBJECT);
    const unsigned regions = dw_diff_kind(DW_FRAME_REGION);
    switch (diff->options.by) {
    case DW_DIFF_FUNCTION:
        return dw_functions_are_in(diff->profiles[DW_OLD]) ||
                       dw_functions_are_in(diff->profiles[DW_NEW])
                   ? calls
                   : regions;
    case DW_DIFF_REGION: return regions;
    default: return calls | regions;
    }
}

static int add_paths(struct dw_diff *diff)
{
    for (uint32_t i = 0; i < diff->tree.count; i++) {
        const struct dw_diff_node *node = &diff->tree.nodes[i];
        struct dw_diff_row *row = dw_diff_add_row(diff, node->place, i);
        if (!row)
            return DW_ERR_MEMORY;
        memcpy(row->at, node->at, sizeof row->at);
        memcpy(row->is_in, node->is_in, sizeof row->is_in);
    }
    return 0;
}

static double node_change(const struct dw_diff *diff, const struct dw_diff_node *node)
{
    return (double)node->at[DW_NEW].self - diff->scale * (double)node->at[DW_OLD].self;
}

/* Gives each row of a function the path on which it changed most. */
static void find_paths(struct dw_diff *diff, const uint32_t *row_of)
{
    const struct dw_diff_tree *tree = &diff->tree;
    for (uint32_t i = 0; i < tree->count; i++) {
        struct dw_diff_row *row = &diff->rows[row_of[tree->nodes[i].place]];
        double most =
            row->node == DW_DIFF_NONE ? -1 : fabs(node_change(diff, &tree->nodes[row->node]));
        if (fabs(node_change(diff, &tree->nodes[i])) > most)
            row->node = i;
    }
}

static void add_node(const struct dw_diff *diff, struct dw_diff_row *row,
                     const struct dw_diff_node *node, bool is_outermost)
{
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        const struct dw_diff_sums *sums = &node->at[side];
        row->at[side].count += is_outermost || !diff->are_samples ? sums->count : 0;
        row->at[side].total += is_outermost ? sums->total : 0;
        row->at[side].self += sums->self;
        row->is_in[side] |= node->is_in[side];
    }
}

static int add_places(struct dw_diff *diff, const bool *outermost, uint32_t *row_of)
{
    for (uint32_t i = 0; i < diff->tree.count; i++) {
        const struct dw_diff_node *node = &diff->tree.nodes[i];
        if (row_of[node->place] == DW_DIFF_NONE) {
            row_of[node->place] = diff->count;
            if (!dw_diff_add_row(diff, node->place, DW_DIFF_NONE))
                return DW_ERR_MEMORY;
        }
        add_node(diff, &diff->rows[row_of[node->place]], node, outermost[i]);
    }
    return 0;
}

static int add_functions(struct dw_diff *diff)
{
    const struct dw_diff_tree *tree = &diff->tree;
    struct dw_room room = {0};
    uint32_t *places = dw_room_get(&room, tree->count, sizeof *places);
    bool *outermost = dw_room_get(&room, tree->count, sizeof *outermost);
    uint32_t *row_of = dw_room_get_ids(&room, diff->places.count);
    int error = dw_room_error(&room);
    for (uint32_t i = 0; i < tree->count && !error; i++)
        places[i] = tree->nodes[i].place;
    if (!error)
        error = dw_outermost_find(tree->nodes, sizeof *tree->nodes, tree->count, places,
                                  diff->places.count, outermost);
    if (!error)
        error = add_places(diff, outermost, row_of);
    if (!error)
        find_paths(diff, row_of);
    dw_room_release(&room);
    return error;
}

static void add_up(struct dw_diff *diff)
{
    for (uint32_t i = 0; i < diff->tree.count; i++)
        for (enum dw_side side = 0; side < DW_SIDES; side++)
            diff->totals[side] += diff->tree.nodes[i].at[side].self;
}

static void find_scale(struct dw_diff *diff)
{
    bool can = diff->options.normalise && diff->totals[DW_OLD] && diff->totals[DW_NEW];
    diff->scale = can ? (double)diff->totals[DW_NEW] / (double)diff->totals[DW_OLD] : 1;
}

void dw_diff_compare(const struct dw_diff *diff, struct dw_diff_row *row)
{
    const struct dw_diff_sums *old = &row->at[DW_OLD], *new = &row->at[DW_NEW];
    double calls = (double)old->count * diff->scale, self = dw_diff_self(diff, row, DW_OLD);
    row->change = (double)new->self - self;
    row->from_calls = old->count ? ((double)new->count - calls) * self / calls : row->change;
    row->from_speed = row->change - row->from_calls;
    row->change_total = (double)new->total - (double)old->total * diff->scale;
}

static double ratio_of(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    double old = dw_diff_self(diff, row, DW_OLD), new = dw_diff_self(diff, row, DW_NEW);
    return old > 0 ? new / old : new > 0 ? INFINITY : 1;
}

static double key_of(const struct dw_diff *diff, const struct dw_diff_row *row,
                     enum dw_diff_sort sort)
{
    switch (sort) {
    case DW_DIFF_RATIO: return fabs(log(ratio_of(diff, row)));
    case DW_DIFF_BY_OLD: return (double)row->at[DW_OLD].self;
    case DW_DIFF_BY_NEW: return (double)row->at[DW_NEW].self;
    default: return fabs(row->change);
    }
}

struct sorting {
    const struct dw_diff *diff;
    enum dw_diff_sort sort;
    bool above_first; /* rows over the threshold before the others */
};

static bool is_above(const struct dw_diff *diff, const struct dw_diff_row *row)
{
    return fabs(row->change) >= diff->options.threshold * dw_diff_whole(diff) &&
           (row->change != 0 || diff->options.threshold == 0);
}

static int compare_rows(const struct sorting *sorting, const struct dw_diff_row *a,
                        const struct dw_diff_row *b)
{
    const struct dw_diff *diff = sorting->diff;
    int order = sorting->above_first ? is_above(diff, b) - is_above(diff, a) : 0;
    return order ?: dw_descending(key_of(diff, a, sorting->sort), key_of(diff, b, sorting->sort))
           ?: dw_descending(fabs(a->change_total), fabs(b->change_total))
           ?: dw_ascending(a->place, b->place) ?: dw_ascending(a->node, b->node)
           ?: dw_ascending(a->lines[DW_NEW], b->lines[DW_NEW]);
}

static int compare_whole_rows(const void *left, const void *right, void *sorting)
{
    return compare_rows(sorting, left, right);
}

static int compare_indices(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    const struct dw_diff_row *rows = sorting->diff->rows;
    return compare_rows(sorting, &rows[*(const uint32_t *)left], &rows[*(const uint32_t *)right]);
}

static int rank(struct dw_diff *diff)
{
    for (uint32_t i = 0; i < diff->count; i++)
        dw_diff_compare(diff, &diff->rows[i]);
    diff->by_change = malloc((diff->count + 1u) * sizeof *diff->by_change);
    if (!diff->by_change)
        return DW_ERR_MEMORY;
    struct sorting sorting = {diff, diff->options.sort, diff->options.only_above};
    if (diff->count)
        qsort_r(diff->rows, diff->count, sizeof *diff->rows, compare_whole_rows, &sorting);
    for (uint32_t i = 0; i < diff->count; i++) {
        diff->by_change[i] = i;
        diff->shown += !diff->options.only_above || is_above(diff, &diff->rows[i]);
    }
    if (diff->options.limit && diff->shown > diff->options.limit)
        diff->shown = diff->options.limit;
    sorting = (struct sorting){.diff = diff, .sort = DW_DIFF_CHANGE};
    qsort_r(diff->by_change, diff->count, sizeof *diff->by_change, compare_indices, &sorting);
    return 0;
}

static int add_tree_rows(struct dw_diff *diff)
{
    int error =
        dw_diff_tree_make(diff->profiles, &diff->places, kinds_of(diff), diff->family, &diff->tree);
    if (error)
        return error;
    add_up(diff);
    find_scale(diff);
    return diff->options.by == DW_DIFF_FUNCTION ? add_functions(diff) : add_paths(diff);
}

/* Samples know the functions around their lines. */
static int add_lines(struct dw_diff *diff)
{
    int error = dw_diff_add_lines(diff);
    find_scale(diff);
    return error || !diff->are_samples
               ? error
               : dw_diff_tree_make(diff->profiles, &diff->places, kinds_of(diff), diff->family,
                                   &diff->tree);
}

/* Of recordings that have both, lines that were watched say more than samples. */
static bool are_sampled(const struct dw_profile *old, const struct dw_profile *new,
                        enum dw_diff_by by)
{
    bool are_watched = dw_lines_are_watched(old) && dw_lines_are_watched(new);
    return by != DW_DIFF_REGION && !(by == DW_DIFF_LINE && are_watched) &&
           (dw_family_is_in(old, DW_FAMILY_SAMPLES) || dw_family_is_in(new, DW_FAMILY_SAMPLES));
}

/* The first family that one of them has. */
static enum dw_family family_of(const struct dw_profile *old, const struct dw_profile *new,
                                enum dw_diff_by by)
{
    enum dw_family families[] = {dw_family_choose(old, DW_FAMILY_ANY),
                                 dw_family_choose(new, DW_FAMILY_ANY)};
    if (by == DW_DIFF_REGION)
        return DW_FAMILY_REGIONS;
    return families[0] < families[1] ? families[0] : families[1];
}

#define MEMORY_PERIOD 524288.0 /* bytes from one sample to the next: probe/memory */

static double period_of(const struct dw_profile *const profiles[DW_SIDES])
{
    for (enum dw_side side = 0; side < DW_SIDES; side++)
        for (uint32_t i = 0; i < profiles[side]->process_count; i++)
            if (!strcmp(dw_profile_property(profiles[side], i, "memory").bytes, "sampled"))
                return MEMORY_PERIOD;
    return 0;
}

/* A sum of n samples of one size has the error sqrt(n) of them. */
double dw_diff_doubt(const struct dw_diff *diff, double old, double new)
{
    return sqrt(diff->period * (old + new));
}

int dw_diff_make(const struct dw_profile *old, const struct dw_profile *new,
                 const struct dw_diff_options *options, struct dw_diff *diff)
{
    struct dw_diff made = {
        .profiles = {old, new},
        .options = *options,
        .family = family_of(old, new, options->by),
        .scale = 1,
        .are_samples = are_sampled(old, new, options->by),
        .are_bytes = dw_profile_shown_unit(old) == DW_UNIT_BYTES,
    };
    made.period = made.are_bytes ? period_of(made.profiles) : 0;
    int error = dw_diff_places_make(made.profiles, &made.places);
    if (!error && options->by == DW_DIFF_LINE) {
        error = add_lines(&made);
    } else if (!error) {
        error = add_tree_rows(&made);
    }
    if (!error)
        error = rank(&made);
    if (error)
        dw_diff_release(&made);
    else
        *diff = made;
    return error;
}

void dw_diff_release(struct dw_diff *diff)
{
    dw_diff_places_release(&diff->places);
    dw_diff_tree_release(&diff->tree);
    free(diff->rows);
    free(diff->by_change);
    *diff = (struct dw_diff){0};
}

double dw_diff_total_change(const struct dw_diff *diff)
{
    return (double)diff->totals[DW_NEW] - diff->scale * (double)diff->totals[DW_OLD];
}

double dw_diff_whole(const struct dw_diff *diff)
{
    return fmax((double)diff->totals[DW_NEW], diff->scale * (double)diff->totals[DW_OLD]);
}

static bool has_name(const struct dw_diff *diff, uint32_t place, const char *name)
{
    return !strcmp(diff->places.places[place].name.bytes, name);
}

/* Whether the node is inside another of that name, which has its time already. */
static bool is_inside(const struct dw_diff *diff, uint32_t node, const char *name)
{
    const struct dw_diff_node *nodes = diff->tree.nodes;
    while (node) {
        node = nodes[node].parent;
        if (has_name(diff, nodes[node].place, name))
            return true;
    }
    return false;
}

static void add_times(const struct dw_diff *diff, const struct dw_diff_sums at[DW_SIDES],
                      double times[DW_SIDES])
{
    times[DW_OLD] += (double)at[DW_OLD].total * diff->scale;
    times[DW_NEW] += (double)at[DW_NEW].total;
}

bool dw_diff_times_of(const struct dw_diff *diff, const char *name, double times[DW_SIDES])
{
    double sums[DW_SIDES] = {0};
    bool found = false;
    for (uint32_t i = 0; i < diff->tree.count; i++) {
        if (!has_name(diff, diff->tree.nodes[i].place, name) || is_inside(diff, i, name))
            continue;
        add_times(diff, diff->tree.nodes[i].at, sums);
        found = true;
    }
    for (uint32_t i = 0; i < diff->count && !diff->tree.count; i++) {
        if (!has_name(diff, diff->rows[i].place, name))
            continue;
        add_times(diff, diff->rows[i].at, sums);
        found = true;
    }
    if (found)
        memcpy(times, sums, sizeof sums);
    return found;
}
