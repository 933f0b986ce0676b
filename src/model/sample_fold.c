/* SPDX-License-Identifier: MIT
 * Paths are made once for each stack. In a thread the time goes to the path of each sample's
 * leaf first, and from there, children before parents, to all that lie under it. */
#include "model/sample_fold.h"

#include "base/grow.h"
#include "model/parts.h"

#include <string.h>

#define INLINE_MAX 64

struct fold {
    struct dw_profile *profile;
    dw_path_id *path_of;  /* by stack */
    uint32_t *line_of;    /* by place: the row of its line, and that of its function */
    uint32_t *whole_of;   /* DW_MAP_NONE: not looked up yet */
    uint32_t *seen;       /* by row of lines: the last sample that counted there, from 1 on */
    uint32_t sample;      /* counts samples of all threads */
    bool is_for_lines;    /* alone: the paths have other times */
    struct dw_sample *at; /* by path: what the thread spent there; its state marks the path */
    uint32_t *touched;    /* paths with a mark */
    uint32_t touched_count;
};

/* The places that a place was inlined into come before it, the outermost first. */
static uint32_t expand(const struct dw_profile *profile, dw_place_id place,
                       dw_place_id chain[INLINE_MAX])
{
    uint32_t count = 0;
    for (; place && count < INLINE_MAX; place = profile->places.places[place].outer)
        chain[count++] = place;
    return count;
}

static int make_path(struct fold *fold, dw_path_id stack)
{
    struct dw_profile *profile = fold->profile;
    dw_place_id chain[INLINE_MAX];
    dw_path_id path = fold->path_of[profile->stacks.paths[stack].parent];
    uint32_t count = expand(profile, profile->stacks.paths[stack].frame, chain);
    int error = 0;
    while (count && !error)
        error = dw_path_intern(&profile->paths, path, profile->places.places[chain[--count]].frame,
                               &path);
    fold->path_of[stack] = path;
    return error;
}

static int make_paths(struct fold *fold)
{
    int error = 0;
    for (dw_path_id stack = 1; stack < fold->profile->stacks.count && !error; stack++)
        error = make_path(fold, stack);
    return error;
}

/* Marks a path and all above it, so that they are visited once. */
static void touch(struct fold *fold, dw_path_id path)
{
    while (!fold->at[path].state) {
        fold->at[path].state = 1;
        fold->touched[fold->touched_count++] = path;
        path = fold->profile->paths.paths[path].parent;
    }
}

static int descending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* A child's id is larger than its parent's, so its sum is complete when its turn comes. */
static int add_to_paths(struct fold *fold, uint32_t thread)
{
    struct dw_profile *profile = fold->profile;
    qsort(fold->touched, fold->touched_count, sizeof *fold->touched, descending);
    for (uint32_t i = 0; i < fold->touched_count; i++) {
        dw_path_id path = fold->touched[i], parent = profile->paths.paths[path].parent;
        struct dw_sample *sum = &fold->at[path];
        struct dw_metric *metric = dw_profile_metric(profile, thread, path);
        if (!metric)
            return DW_ERR_MEMORY;
        metric->count += sum->count;
        metric->total += sum->weight_ns;
        struct dw_metric *above =
            path == DW_PATH_ROOT ? NULL : dw_profile_metric(profile, thread, parent);
        if (above) {
            above->children += sum->weight_ns;
            fold->at[parent].count += sum->count;
            fold->at[parent].weight_ns += sum->weight_ns;
        }
        *sum = (struct dw_sample){0};
    }
    fold->touched_count = 0;
    return 0;
}

static uint32_t row_of(struct fold *fold, dw_frame_id function, uint32_t line)
{
    struct dw_line *row = dw_line_get(&fold->profile->lines, function, line, 0);
    return row ? (uint32_t)(row - fold->profile->lines.lines) : DW_MAP_NONE;
}

static int find_rows_of(struct fold *fold, dw_place_id id)
{
    const struct dw_place *place = &fold->profile->places.places[id];
    if (!place->line || fold->line_of[id] != DW_MAP_NONE)
        return 0;
    fold->line_of[id] = row_of(fold, place->frame, place->line);
    fold->whole_of[id] = row_of(fold, place->frame, 0);
    bool failed = fold->line_of[id] == DW_MAP_NONE || fold->whole_of[id] == DW_MAP_NONE;
    return failed ? DW_ERR_MEMORY : 0;
}

/* Marks the stacks that some sample stands on, in path_of. Others are of frames that are not
 * shown. */
static void mark_sampled(struct fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_sample_table *samples = &profile->threads[t].samples;
        for (uint32_t i = 0; i < samples->count; i++)
            for (dw_path_id stack = samples->samples[i].stack; stack && !fold->path_of[stack];
                 stack = profile->stacks.paths[stack].parent)
                fold->path_of[stack] = DW_MAP_NONE;
    }
}

/* Every line that was sampled, so that the table of lines does not grow any more. */
static int find_rows(struct fold *fold)
{
    const struct dw_path_tree *stacks = &fold->profile->stacks;
    dw_place_id chain[INLINE_MAX];
    int error = 0;
    for (dw_place_id i = 0; i < fold->profile->places.count; i++)
        fold->line_of[i] = fold->whole_of[i] = DW_MAP_NONE;
    for (dw_path_id stack = 1; stack < stacks->count && !error; stack++) {
        uint32_t count =
            fold->path_of[stack] ? expand(fold->profile, stacks->paths[stack].frame, chain) : 0;
        while (count && !error)
            error = find_rows_of(fold, chain[--count]);
    }
    return error;
}

static void count_in_row(struct fold *fold, uint32_t row, const struct dw_sample *sample)
{
    if (row == DW_MAP_NONE || fold->seen[row] == fold->sample)
        return;
    fold->seen[row] = fold->sample;
    fold->profile->lines.lines[row].values[DW_LINE_SAMPLES] += sample->count;
    fold->profile->lines.lines[row].values[DW_LINE_TOTAL] += sample->weight_ns;
}

static enum dw_line_metric part_of(uint32_t state)
{
    switch (state & DW_SAMPLE_STATE_MASK) {
    case DW_SAMPLE_NATIVE:
    case DW_SAMPLE_KERNEL: return DW_LINE_NATIVE;
    case DW_SAMPLE_WAITING:
    case DW_SAMPLE_GIL: return DW_LINE_WAITING;
    case DW_SAMPLE_PYTHON: return DW_LINE_PYTHON;
    default: return DW_LINE_SELF;
    }
}

/* What the thread did is told of its innermost Python line; of the innermost line of all only
 * that it was there. */
static void split(struct fold *fold, dw_place_id place, const struct dw_sample *sample,
                  bool *is_inner, bool *is_split)
{
    const struct dw_profile *profile = fold->profile;
    uint32_t rows[] = {fold->line_of[place], fold->whole_of[place]};
    bool is_python =
        profile->frames.frames[profile->places.places[place].frame].kind == DW_FRAME_FUNCTION;
    for (int i = 0; i < 2 && rows[i] != DW_MAP_NONE; i++) {
        uint64_t *values = profile->lines.lines[rows[i]].values;
        enum dw_line_metric part = part_of(sample->state);
        if (!*is_inner && !values[DW_LINE_HITS]) /* of lines that were watched it was measured */
            values[DW_LINE_SELF] += sample->weight_ns;
        if (is_python && !*is_split && part != DW_LINE_SELF)
            values[part] += sample->weight_ns;
    }
    *is_inner = true;
    *is_split |= is_python;
}

static void add_to_lines(struct fold *fold, const struct dw_sample *sample)
{
    const struct dw_profile *profile = fold->profile;
    bool is_inner = false, is_split = false;
    fold->sample++;
    for (dw_path_id stack = sample->stack; stack; stack = profile->stacks.paths[stack].parent) {
        dw_place_id place = profile->stacks.paths[stack].frame;
        for (uint32_t i = 0; place && i < INLINE_MAX; i++) {
            split(fold, place, sample, &is_inner, &is_split);
            count_in_row(fold, fold->line_of[place], sample);
            count_in_row(fold, fold->whole_of[place], sample);
            place = profile->places.places[place].outer;
        }
    }
}

static int fold_thread(struct fold *fold, uint32_t thread)
{
    const struct dw_sample_table *samples = &fold->profile->threads[thread].samples;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct dw_sample *sample = &samples->samples[i];
        dw_path_id path = fold->path_of[sample->stack];
        if (!fold->is_for_lines) {
            touch(fold, path);
            fold->at[path].count += sample->count;
            fold->at[path].weight_ns += sample->weight_ns;
        }
        add_to_lines(fold, sample);
    }
    return add_to_paths(fold, thread);
}

static int make_room(struct fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    fold->path_of = calloc(profile->stacks.count + 1u, sizeof *fold->path_of);
    fold->line_of = malloc((profile->places.count + 1u) * sizeof *fold->line_of);
    fold->whole_of = malloc((profile->places.count + 1u) * sizeof *fold->whole_of);
    if (!fold->path_of || !fold->line_of || !fold->whole_of)
        return DW_ERR_MEMORY;
    mark_sampled(fold);
    int error = find_rows(fold);
    if (!error)
        error = make_paths(fold);
    if (error)
        return error;
    fold->seen = calloc(profile->lines.count + 1u, sizeof *fold->seen);
    fold->at = calloc(profile->paths.count + 1u, sizeof *fold->at);
    fold->touched = malloc((profile->paths.count + 1u) * sizeof *fold->touched);
    return fold->seen && fold->at && fold->touched ? 0 : DW_ERR_MEMORY;
}

int dw_samples_fold(struct dw_profile *profile)
{
    struct fold fold = {.profile = profile, .is_for_lines = dw_entries_are_in(profile)};
    if (!dw_samples_are_in(profile))
        return 0;
    int error = make_room(&fold);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        if (profile->threads[i].samples.count)
            error = fold_thread(&fold, i);
    free(fold.path_of);
    free(fold.line_of);
    free(fold.whole_of);
    free(fold.seen);
    free(fold.at);
    free(fold.touched);
    return error;
}
