/* SPDX-License-Identifier: MIT
 * Places are numbered by what makes them one row; a row's total counts only where the row
 * is not inside itself, so that no share is more than the whole. */
#define _GNU_SOURCE
#include "lens/view/sample_list.h"

#include "base/error.h"
#include "lens/view/function_files.h"
#include "lens/view/functions.h"
#include "lens/view/roster.h"
#include "model/extension_names.h"
#include "model/outermost.h"

#include <inttypes.h>
#include <stdlib.h>

struct grouping {
    struct dw_sample_list *list;
    const struct dw_profile *profile;
    struct dw_place_spots spots; /* a row for each */
    uint32_t *keys;              /* of each path: its row */
    bool *outermost;
};

static int make_rows(struct grouping *grouping)
{
    int error = dw_place_spots_make(&grouping->list->tree, grouping->list->by, &grouping->spots);
    if (error)
        return error;
    grouping->list->rows = calloc(grouping->spots.count, sizeof *grouping->list->rows);
    for (uint32_t i = 0; grouping->list->rows && i < grouping->spots.count; i++)
        grouping->list->rows[i].place = grouping->spots.first[i];
    return grouping->list->rows ? 0 : DW_ERR_MEMORY;
}

static int key_paths(struct grouping *grouping)
{
    const struct dw_stack_tree *tree = &grouping->list->tree;
    grouping->keys = malloc(tree->count * sizeof *grouping->keys);
    grouping->outermost = malloc(tree->count * sizeof *grouping->outermost);
    if (!grouping->keys || !grouping->outermost)
        return DW_ERR_MEMORY;
    for (dw_path_id path = 0; path < tree->count; path++)
        grouping->keys[path] = grouping->spots.of[tree->paths[path].step];
    return dw_outermost_find(tree->paths, tree->count, grouping->keys, grouping->spots.count,
                             grouping->outermost);
}

static void add(struct dw_stack_sums *into, const struct dw_stack_sums *from)
{
    into->count += from->count;
    into->weight += from->weight;
}

static void add_paths(struct grouping *grouping)
{
    struct dw_sample_list *list = grouping->list;
    const struct dw_stack_tree *tree = &list->tree;
    for (dw_path_id path = 1; path < tree->count; path++) {
        struct dw_sample_row *row = &list->rows[grouping->keys[path]];
        add(&row->self, &tree->self[path]);
        if (grouping->outermost[path])
            add(&row->total, &tree->total[path]);
    }
    list->all = tree->total[DW_PATH_ROOT];
}

/* Of each path the innermost Python code on the way to it; the root when there is none. */
static dw_path_id *find_python(const struct dw_stack_tree *tree)
{
    dw_path_id *python = calloc(tree->count, sizeof *python);
    for (dw_path_id path = 1; python && path < tree->count; path++) {
        const struct dw_place *place = dw_stack_tree_place(tree, path);
        bool is_python = dw_place_frame(tree->profile, place)->kind == DW_FRAME_FUNCTION;
        python[path] = is_python ? path : python[tree->paths[path].parent];
    }
    return python;
}

/* NULL when it is not known. */
static uint64_t *part_of(struct dw_sample_row *row, uint32_t state)
{
    switch (state & DW_SAMPLE_STATE_MASK) {
    case DW_SAMPLE_PYTHON: return &row->python;
    case DW_SAMPLE_WAITING:
    case DW_SAMPLE_GIL: return &row->waiting;
    case DW_SAMPLE_NATIVE:
    case DW_SAMPLE_KERNEL: return &row->native;
    default: return NULL;
    }
}

static void split_sample(struct grouping *grouping, const struct dw_sample *sample,
                         const dw_path_id *python)
{
    struct dw_sample_row *rows = grouping->list->rows;
    dw_path_id path = sample->path;
    uint32_t leaf = grouping->keys[path], line = grouping->keys[python[path]];
    uint64_t *part = part_of(&rows[line], sample->state);
    bool waits = part == &rows[line].waiting, is_told = grouping->list->by == DW_SPOT_LINE;
    grouping->list->tells_running |= is_told && part && !waits;
    grouping->list->tells_waiting |= is_told && part;
    if (part)
        *part += sample->weight;
    if (part && leaf != line)
        *part_of(&rows[leaf], sample->state) += sample->weight;
}

static int split(struct grouping *grouping)
{
    const struct dw_profile *profile = grouping->profile;
    dw_path_id *python = find_python(&grouping->list->tree);
    if (!python)
        return DW_ERR_MEMORY;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        struct dw_sample sample;
        for (uint32_t at = 0; dw_profile_sample(profile, t, &at, &sample);)
            split_sample(grouping, &sample, python);
    }
    free(python);
    return 0;
}

static void add_idle_thread(struct grouping *grouping, uint32_t thread, uint64_t *idle)
{
    struct dw_sample sample;
    for (uint32_t at = 0; dw_profile_sample(grouping->profile, thread, &at, &sample);) {
        dw_path_id path = sample.path;
        uint32_t state = sample.state & DW_SAMPLE_STATE_MASK;
        if (state != DW_SAMPLE_WAITING && state != DW_SAMPLE_GIL)
            continue;
        grouping->list->rows[grouping->keys[path]].idle_self += sample.weight;
        idle[path] += sample.weight;
    }
}

static int add_idle(struct grouping *grouping)
{
    const struct dw_profile *profile = grouping->profile;
    struct dw_sample_list *list = grouping->list;
    uint64_t *idle = calloc(list->tree.count, sizeof *idle); /* by path */
    if (!idle)
        return DW_ERR_MEMORY;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        bool is_idle = dw_roster_is_idle(profile, t);
        list->threads += dw_thread_is_sampled(&profile->threads[t]);
        list->idle_threads += is_idle;
        if (is_idle)
            add_idle_thread(grouping, t, idle);
    }
    for (dw_path_id path = list->tree.count; path-- > 1;) { /* callees first */
        if (grouping->outermost[path])
            list->rows[grouping->keys[path]].idle_total += idle[path];
        idle[list->tree.paths[path].parent] += idle[path];
    }
    free(idle);
    return 0;
}

static void put_string(struct dw_out *out, struct dw_string string)
{
    dw_out_printable(out, string.bytes, string.size);
}

/* "x.py:12" or "libm.so.6"; nothing when neither is known. */
static void put_where(struct dw_out *out, const struct dw_function *shown)
{
    put_string(out, shown->file);
    if (shown->file.size && shown->line)
        dw_out_printf(out, ":%" PRIu32, shown->line);
}

static void put_function(struct dw_out *out, const struct dw_frame *frame,
                         const struct dw_function *shown, bool full_paths)
{
    put_string(out, shown->name);
    bool is_object = frame->kind == DW_FRAME_NATIVE &&
                     (*shown->name.bytes == '[' || /* "[libz.so]" */
                      dw_extension_has_name(shown->file.bytes, shown->name.bytes));
    if (!frame->file || (is_object && !full_paths))
        return;
    dw_out_text(out, " (");
    put_where(out, shown);
    dw_out_char(out, ')');
}

static void put_line(struct dw_out *out, const struct dw_function *shown)
{
    put_where(out, shown);
    dw_out_text(out, shown->file.size ? " (" : "");
    put_string(out, shown->name);
    dw_out_text(out, shown->file.size ? ")" : "");
}

static void put_label(struct dw_out *out, const struct dw_sample_list *list,
                      const struct dw_sample_row *row, const struct dw_function *shown,
                      bool full_paths)
{
    if (list->by == DW_SPOT_FUNCTION)
        put_function(out, dw_place_frame(list->tree.profile, row->place), shown, full_paths);
    else if (list->by == DW_SPOT_LINE)
        put_line(out, shown);
    else
        put_string(out, shown->file);
    uint64_t busy = row->total.weight - row->idle_total;
    if (row->idle_total)
        dw_out_text(out, busy <= row->total.weight / DW_IDLE_RUNS ? " (idle)" : " (partly idle)");
    dw_out_char(out, '\0');
}

/* Leaves out rows without samples, which are of places that nothing was found on, and the first,
 * which is of none. */
static void drop_empty(struct grouping *grouping)
{
    struct dw_sample_list *list = grouping->list;
    for (uint32_t i = 1; i < grouping->spots.count; i++)
        if (list->rows[i].total.count || list->rows[i].total.weight)
            list->rows[list->count++] = list->rows[i];
}

static struct dw_function shown_of(const struct dw_sample_list *list, const struct dw_place *place)
{
    const struct dw_profile *profile = list->tree.profile;
    if (!place)
        return (struct dw_function){.file = {"", 0}, .name = {"", 0}};
    const struct dw_frame *frame = dw_place_frame(profile, place);
    struct dw_function shown = {.file = dw_place_source(profile, place),
                                .name = dw_profile_string(profile, frame->name)};
    if (list->by == DW_SPOT_MODULE)
        return (struct dw_function){
            .file = dw_profile_string(profile, dw_place_module_name(profile, place))};
    if (shown.file.size)
        shown.line = list->by == DW_SPOT_LINE ? place->line : frame->line;
    else
        shown.file = dw_place_module(profile, place);
    return shown;
}

/* There are many __init__.py, so these always have their package. */
static struct dw_string longer(struct dw_string a, struct dw_string b)
{
    return a.size > b.size ? a : b;
}

/* What the labels of the rows are made of; NULL when out of memory. */
static struct dw_function *make_shown(const struct dw_sample_list *list, bool full_paths)
{
    struct dw_function *shown = calloc(list->count + 1u, sizeof *shown);
    struct dw_function **order = malloc((list->count + 1u) * sizeof *order);
    bool failed = !shown || !order;
    for (uint32_t i = 0; !failed && i < list->count; i++) {
        shown[i] = shown_of(list, list->rows[i].place);
        order[i] = &shown[i];
    }
    if (!failed && !full_paths)
        failed = dw_functions_strip_dirs(order, list->count) != 0;
    for (uint32_t i = 0; !failed && !full_paths && i < list->count; i++)
        shown[i].file =
            longer(shown[i].file, dw_file_short(shown_of(list, list->rows[i].place).file));
    free(order);
    if (!failed)
        return shown;
    free(shown);
    return NULL;
}

static int label_rows(struct dw_sample_list *list, bool full_paths)
{
    struct dw_function *shown = make_shown(list, full_paths);
    size_t *starts = calloc(list->count + 1u, sizeof *starts);
    bool failed = !shown || !starts;
    for (uint32_t i = 0; !failed && i < list->count; i++) {
        starts[i] = list->labels.buffer.size;
        put_label(&list->labels, list, &list->rows[i], &shown[i], full_paths);
    }
    failed = failed || list->labels.error || list->labels.buffer.failed;
    for (uint32_t i = 0; !failed && i < list->count; i++)
        list->rows[i].label = (const char *)list->labels.buffer.data + starts[i];
    free(starts);
    free(shown);
    return failed ? DW_ERR_MEMORY : 0;
}

static int descending(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

/* Time of idle threads counts last. */
static int compare_times(const struct dw_sample_row *a, const struct dw_sample_row *b, bool by_self)
{
    int order = 0;
    if (by_self)
        order = descending(a->self.weight - a->idle_self, b->self.weight - b->idle_self);
    if (!order)
        order = descending(a->total.weight - a->idle_total, b->total.weight - b->idle_total);
    if (!order && by_self)
        order = descending(a->self.weight, b->self.weight);
    return order ? order : descending(a->total.weight, b->total.weight);
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct dw_sample_row *a = left, *b = right;
    const enum dw_sample_sort *sort = context;
    int order = 0;
    if (*sort == DW_SAMPLES_SORT_COUNT)
        order = descending(a->total.count, b->total.count);
    if (!order && *sort != DW_SAMPLES_SORT_NAME)
        order = compare_times(a, b, *sort == DW_SAMPLES_SORT_SELF);
    if (!order)
        order = strcmp(a->label, b->label);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

static void choose_rows(struct dw_sample_list *list, const struct dw_sample_options *options)
{
    enum dw_sample_sort sort = options->sort;
    uint32_t all = list->count, kept = 0;
    for (uint32_t i = 0; i < all; i++)
        if (!options->match || !regexec(options->match, list->rows[i].label, 0, NULL, 0))
            list->rows[kept++] = list->rows[i];
    qsort_r(list->rows, kept, sizeof *list->rows, compare_rows, &sort);
    list->count = options->limit && options->limit < kept ? (uint32_t)options->limit : kept;
    list->left_out = kept - list->count;
}

static int make(struct grouping *grouping, const struct dw_sample_options *options)
{
    int error = dw_stack_tree_make(grouping->profile, &grouping->list->tree);
    if (!error)
        error = make_rows(grouping);
    if (!error)
        error = key_paths(grouping);
    if (error)
        return error;
    add_paths(grouping);
    error = split(grouping);
    if (!error)
        error = add_idle(grouping);
    drop_empty(grouping);
    if (!error)
        error = label_rows(grouping->list, options->full_paths);
    if (!error)
        choose_rows(grouping->list, options);
    return error;
}

int dw_sample_list_make(const struct dw_profile *profile, const struct dw_sample_options *options,
                        struct dw_sample_list *list)
{
    struct dw_sample_list made = {.by = options->by, .are_counts = dw_samples_are_counts(profile)};
    struct grouping grouping = {.list = &made, .profile = profile};
    dw_out_init_memory(&made.labels);
    int error = make(&grouping, options);
    dw_place_spots_release(&grouping.spots);
    free(grouping.keys);
    free(grouping.outermost);
    if (error)
        dw_sample_list_release(&made);
    else
        *list = made;
    return error;
}

void dw_sample_list_release(struct dw_sample_list *list)
{
    dw_stack_tree_release(&list->tree);
    dw_out_close(&list->labels);
    free(list->rows);
    list->rows = NULL;
}
