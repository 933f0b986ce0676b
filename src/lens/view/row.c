/* SPDX-License-Identifier: MIT
 * Builds one tree for each group of threads: all of them, those of a process,
 * or one. Nothing here recurses: a path may be 100,000 frames deep. */
#include "lens/view/row.h"

#include "base/grow.h"
#include "lens/view/column.h"
#include "lens/view/functions.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"

#define ROW_MAX (1u << 24)

struct building {
    struct dw_rows *rows;
    const struct dw_profile *profile;
    uint32_t *row_of;  /* path to row, in the tree being built */
    bool *shown;       /* paths of frames that take time, all the way up */
    uint32_t *threads; /* in order: those that the family knows */
    uint32_t thread_count;
    uint32_t *first_threads; /* of each process */
    struct dw_measuring measuring;
};

static int start(struct building *building)
{
    const struct dw_profile *profile = building->profile;
    uint32_t count = profile->functions.count;
    building->row_of = malloc(count * sizeof *building->row_of);
    building->shown = malloc(count * sizeof *building->shown);
    if (!building->row_of || !building->shown)
        return DW_ERR_MEMORY;
    memset(building->row_of, 0xff, count * sizeof *building->row_of);
    for (dw_path_id path = 0; path < count; path++)
        building->shown[path] = dw_frame_kind_takes_time(dw_profile_frame(profile, path)->kind) &&
                                (!path || building->shown[profile->functions.paths[path].parent]);
    int error = dw_measuring_init(&building->measuring, profile, building->rows->family);
    if (!error)
        error = dw_roster_threads(profile, &building->threads);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        if (dw_family_has_thread(profile, building->rows->family, building->threads[i]))
            building->threads[building->thread_count++] = building->threads[i];
    return error ? error : dw_roster_first_threads(profile, &building->first_threads);
}

static void finish(struct building *building)
{
    free(building->row_of);
    free(building->shown);
    free(building->threads);
    free(building->first_threads);
    dw_measuring_release(&building->measuring);
}

static int add_row(struct building *building, dw_path_id path, uint32_t *index)
{
    struct dw_rows *rows = building->rows;
    int error =
        rows->count < ROW_MAX ? DW_GROW(rows->rows, rows->count, rows->capacity) : DW_ERR_TOO_LARGE;
    if (error)
        return error;
    *index = building->row_of[path] = rows->count;
    rows->rows[rows->count++] = (struct dw_row){
        .parent = DW_ROW_NONE, .thread = DW_ROW_NONE, .tree = rows->tree_count - 1, .path = path};
    return 0;
}

/* The row of a path in the tree being built; missing ones on the way up are added. */
static int row_of_path(struct building *building, dw_path_id path, uint32_t *index)
{
    uint32_t below = DW_ROW_NONE;
    for (dw_path_id at = path;; at = building->profile->functions.paths[at].parent) {
        uint32_t row = building->row_of[at];
        bool known = row != DW_ROW_NONE;
        int error = known ? 0 : add_row(building, at, &row);
        if (error)
            return error;
        if (below != DW_ROW_NONE)
            building->rows->rows[below].parent = row;
        else
            *index = row;
        if (known || at == DW_PATH_ROOT)
            return 0;
        below = row;
    }
}

/* The root is one entry of each process (or thread) although it may never have ended; samples
 * of threads add up in it, as those of their functions do. Its spread does not outlive this
 * function, so it is not to be borrowed. */
static int merge_root(struct dw_rows *rows, struct dw_row *row, const struct dw_metric *from)
{
    struct dw_histogram one = {.only = dw_histogram_entry(dw_histogram_bucket(from->total), 1),
                               .count = 1};
    struct dw_metric entry = *from;
    entry.count = rows->are_samples ? from->count : 1;
    entry.min = entry.max = from->total;
    entry.open_total = 0;
    entry.spread = &(struct dw_spread){(unsigned __int128)from->total * from->total, one};
    entry.owns_spread = true;
    return dw_row_add(rows, row, &entry);
}

static int add_metric(struct building *building, uint32_t thread, bool with_root)
{
    const struct dw_measured *measured = &building->measuring.item;
    bool is_root = measured->path == DW_PATH_ROOT;
    if (!building->shown[measured->path] || (is_root && !with_root))
        return 0;
    uint32_t index;
    int error = row_of_path(building, measured->path, &index);
    if (error)
        return error;
    struct dw_row *row = &building->rows->rows[index];
    bool is_first = !row->measured;
    row->measured = true;
    row->total += measured->metric.total;
    if (is_root)
        return merge_root(building->rows, row, &measured->metric);
    struct dw_row *parent = &building->rows->rows[row->parent];
    if (parent->path != DW_PATH_ROOT || with_root)
        parent->self += measured->metric.open_total;
    if (!is_first || !measured->row)
        return dw_row_add(building->rows, row, &measured->metric);
    row->thread = thread;
    row->value = (uint32_t)(measured->row - building->measuring.values->rows);
    return 0;
}

static int add_thread(struct building *building, uint32_t index)
{
    const struct dw_thread *thread = &building->profile->threads[index];
    bool with_root = building->rows->by == DW_BY_THREAD || building->rows->are_samples ||
                     building->first_threads[thread->process] == index;
    int error = 0;
    dw_measuring_thread(&building->measuring, index);
    while (!error && dw_measuring_next(&building->measuring))
        error = add_metric(building, index, with_root);
    return error;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* By more than what rounding makes. */
static bool is_more(uint64_t part, uint64_t whole)
{
    return whole && part > whole + whole / 200;
}

/* Completes the rows from `first`, the root of the tree just built. Until then `self` has the time
 * of entries directly inside that have not ended, and `inner` that of the rows directly under it.
 */
static void finish_tree(struct building *building, uint32_t first)
{
    struct dw_row *rows = building->rows->rows;
    uint32_t end = building->rows->count;
    uint64_t whole = rows[first].total;
    building->rows->trees[rows[first].tree].total = whole;
    for (uint32_t i = first + 1; i < end; i++)
        rows[rows[i].parent].inner += rows[i].total;
    for (uint32_t i = first; i < end; i++) {
        struct dw_row *row = &rows[i];
        struct dw_metric metric = dw_row_metric(building->rows, row);
        building->rows->overlaps |= is_more(row->total, whole) || is_more(row->inner, whole);
        row->inner = difference(row->total, row->inner);
        row->self = difference(difference(dw_metric_active(&metric), metric.children), row->self);
        building->row_of[row->path] = DW_ROW_NONE;
    }
}

/* Names the tree, which is the last one, after its thread or process. */
static int label_tree(struct building *building, uint32_t thread)
{
    struct dw_rows *rows = building->rows;
    const struct dw_profile *profile = building->profile;
    uint32_t process = profile->threads[thread].process;
    bool by_thread = rows->by == DW_BY_THREAD;
    struct dw_row_tree *tree = &rows->trees[rows->tree_count - 1];
    struct dw_out text;
    tree->process = process;
    tree->thread = by_thread ? thread : DW_ROW_NONE;
    dw_out_init_memory(&text);
    if (by_thread)
        dw_roster_put_thread(&text, profile, thread);
    if (by_thread && profile->process_count > 1)
        dw_out_text(&text, " of ");
    if (!by_thread || profile->process_count > 1)
        dw_roster_put_program(&text, profile, process, rows->has_hosts);
    dw_out_char(&text, '\0');
    if (text.error || text.buffer.failed) {
        dw_out_close(&text);
        return DW_ERR_MEMORY;
    }
    tree->label = (struct dw_string){(char *)text.buffer.data, text.buffer.size - 1};
    return 0;
}

static int add_tree(struct dw_rows *rows)
{
    int error = DW_GROW(rows->trees, rows->tree_count, rows->tree_capacity);
    if (!error)
        rows->trees[rows->tree_count++] =
            (struct dw_row_tree){.thread = DW_ROW_NONE, .process = DW_ROW_NONE};
    return error;
}

/* Builds the tree of the threads [from, to) of the order. */
static int build_tree(struct building *building, uint32_t from, uint32_t to)
{
    uint32_t first;
    int error = add_tree(building->rows);
    if (!error)
        error = row_of_path(building, DW_PATH_ROOT, &first);
    for (uint32_t i = from; !error && i < to; i++)
        error = add_thread(building, building->threads[i]);
    if (error)
        return error;
    finish_tree(building, first);
    bool labelled = building->rows->by == DW_BY_THREAD || building->rows->by == DW_BY_PROCESS;
    return labelled && from < to ? label_tree(building, building->threads[from]) : 0;
}

static bool same_tree(const struct building *building, uint32_t a, uint32_t b)
{
    const struct dw_thread *threads = building->profile->threads;
    switch (building->rows->by) {
    case DW_BY_THREAD: return false;
    case DW_BY_PROCESS:
        return threads[building->threads[a]].process == threads[building->threads[b]].process;
    default: return true;
    }
}

static int build_trees(struct building *building)
{
    uint32_t count = building->thread_count;
    int error = count ? 0 : build_tree(building, 0, 0);
    for (uint32_t from = 0, to; !error && from < count; from = to) {
        for (to = from + 1; to < count && same_tree(building, from, to);)
            to++;
        error = build_tree(building, from, to);
    }
    return error;
}

static int build(struct dw_rows *rows)
{
    struct building building = {.rows = rows, .profile = rows->profile};
    int error = start(&building);
    if (!error)
        error = build_trees(&building);
    finish(&building);
    return error;
}

static void keep_first(struct dw_rows *rows, size_t limit)
{
    if (!limit || rows->count <= limit)
        return;
    rows->left_out = rows->count - (uint32_t)limit;
    rows->count = (uint32_t)limit;
}

int dw_rows_make(const struct dw_profile *profile, const struct dw_lens_options *options,
                 struct dw_rows *rows)
{
    const struct dw_column *column = options->sort ? dw_column_find(options->sort) : NULL;
    if (options->sort && !column)
        return DW_ERR_ARGUMENT;
    enum dw_family family = dw_family_choose(profile, options->family);
    struct dw_rows made = {
        .profile = profile,
        .by = options->by,
        .is_flat = options->only_totals || options->by == DW_BY_PATH || options->by == DW_BY_NAME,
        .family = family,
        .are_samples = family == DW_FAMILY_SAMPLES,
        .are_counts = family == DW_FAMILY_SAMPLES && dw_samples_are_counts(profile),
        .are_bytes = dw_profile_shown_unit(profile) == DW_UNIT_BYTES,
        .has_hosts = dw_roster_has_hosts(profile)};
    int error = build(&made);
    if (!error && options->by == DW_BY_PATH)
        error = dw_rows_flatten_paths(&made);
    if (!error && options->by == DW_BY_NAME)
        error = dw_rows_flatten_names(&made);
    if (!error && options->only_totals)
        dw_rows_flatten_trees(&made);
    if (!error)
        error = dw_rows_sort(&made, column);
    if (!error && options->threshold > 0 && !made.is_flat)
        error = dw_rows_prune(&made, options->threshold);
    if (!error)
        error = dw_speller_init(&made.speller, profile->functions.paths, profile->functions.count);
    if (error) {
        dw_rows_release(&made);
        return error;
    }
    keep_first(&made, options->limit);
    *rows = made;
    return 0;
}

void dw_rows_clear(struct dw_rows *rows)
{
    for (uint32_t i = 0; i < rows->sum_count; i++)
        dw_metric_release(&rows->sums[i]);
    free(rows->sums);
    free(rows->rows);
    rows->sums = NULL;
    rows->rows = NULL;
    rows->count = rows->capacity = rows->sum_count = rows->sum_capacity = 0;
}

void dw_rows_release(struct dw_rows *rows)
{
    dw_rows_clear(rows);
    for (uint32_t i = 0; i < rows->tree_count; i++)
        free((char *)rows->trees[i].label.bytes);
    free(rows->trees);
    dw_speller_release(&rows->speller);
    *rows = (struct dw_rows){0};
}

/* Rows are asked for one after the other, and what they point to may lie anywhere: what is soon
 * asked for is fetched meanwhile. */
struct dw_metric dw_row_metric(const struct dw_rows *rows, const struct dw_row *row)
{
    if (row->thread == DW_ROW_NONE)
        return row->value ? rows->sums[row->value - 1] : (struct dw_metric){0};
    const struct dw_value_table *values = &rows->profile->threads[row->thread].values;
    const struct dw_row *soon = row + 8, *later = row + 16;
    if (rows->rows + rows->count - row > 16 && soon->thread == row->thread &&
        later->thread == row->thread) {
        __builtin_prefetch(&values->numbers[values->rows[soon->value].first]);
        __builtin_prefetch(&values->rows[later->value]);
        __builtin_prefetch(&rows->profile->functions.paths[later->path]);
    }
    return dw_family_metric(rows->family, values, &values->rows[row->value]);
}

int dw_row_add(struct dw_rows *rows, struct dw_row *row, const struct dw_metric *metric)
{
    if (row->thread != DW_ROW_NONE || !row->value) {
        int error = DW_GROW(rows->sums, rows->sum_count, rows->sum_capacity);
        if (error)
            return error;
        rows->sums[rows->sum_count] = dw_row_metric(rows, row);
        row->thread = DW_ROW_NONE;
        row->value = ++rows->sum_count;
    }
    return dw_metric_merge(&rows->sums[row->value - 1], metric);
}
