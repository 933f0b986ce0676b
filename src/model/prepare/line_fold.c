/* SPDX-License-Identifier: MIT
 * Samples are added up by path first. What lies under a path is then known at once, so a line gets
 * the samples of all paths that it is outermost in, and no path is walked twice: with paths as deep
 * as there are samples that would take forever. */
#include "model/prepare/line_fold.h"

#include "base/error.h"
#include "model/outermost.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    uint64_t count, weight;
};

struct line_fold {
    struct dw_profile *profile;
    const struct dw_path *paths;
    uint32_t count;
    struct sums *sums;  /* by path: samples on it, then also those under it */
    dw_path_id *python; /* by path: the innermost Python code on the way to it; 0: none */
    uint32_t *line_of;  /* by place: the row of its line, and that of its function */
    uint32_t *whole_of; /* DW_MAP_NONE: it has none */
    uint32_t *keys;     /* by path */
    bool *outermost;
};

static int find_row(struct line_fold *fold, dw_frame_id function, uint32_t line, uint32_t *index)
{
    struct dw_line *row = dw_line_get(&fold->profile->lines, function, line, 0);
    *index = row ? (uint32_t)(row - fold->profile->lines.lines) : DW_MAP_NONE;
    return row ? 0 : DW_ERR_MEMORY;
}

/* Every line that was sampled, so that the table of lines does not grow any more. */
static int find_rows(struct line_fold *fold)
{
    int error = 0;
    for (dw_path_id path = 1; path < fold->count && !error; path++) {
        dw_place_id id = fold->paths[path].step;
        const struct dw_place *place = &fold->profile->places.places[id];
        bool is_sampled = fold->sums[path].count || fold->sums[path].weight;
        if (!place->line || !is_sampled || fold->line_of[id] != DW_MAP_NONE)
            continue;
        error = find_row(fold, place->frame, place->line, &fold->line_of[id]);
        if (!error)
            error = find_row(fold, place->frame, 0, &fold->whole_of[id]);
    }
    return error;
}

static bool is_python(const struct dw_profile *profile, dw_place_id place)
{
    return profile->frames.frames[profile->places.places[place].frame].kind == DW_FRAME_FUNCTION;
}

static void find_python(struct line_fold *fold)
{
    for (dw_path_id path = 1; path < fold->count; path++)
        fold->python[path] = is_python(fold->profile, fold->paths[path].step)
                                 ? path
                                 : fold->python[fold->paths[path].parent];
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

/* The values of the place's line and of its function, or NULL. */
static uint64_t *values_of(const struct line_fold *fold, const uint32_t *row_of, dw_path_id path)
{
    uint32_t row = row_of[fold->paths[path].step];
    return row == DW_MAP_NONE ? NULL : fold->profile->lines.lines[row].values;
}

/* What the thread did is told of its innermost Python line; of the innermost line of all only
 * that it was there. Of lines that were watched that was measured. */
static void add_sums(struct line_fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    struct dw_sample sample;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t at = 0; dw_profile_sample(profile, t, &at, &sample);) {
            fold->sums[sample.path].count += sample.count;
            fold->sums[sample.path].weight += sample.weight;
        }
    for (dw_path_id path = fold->count; path-- > 1;) {
        struct sums *above = &fold->sums[fold->paths[path].parent];
        above->count += fold->sums[path].count;
        above->weight += fold->sums[path].weight;
    }
}

/* Time of its own, where no probe of lines has measured it, and how it was spent. */
static void split_sample(struct line_fold *fold, const struct dw_sample *sample)
{
    const uint32_t *kinds[] = {fold->line_of, fold->whole_of};
    dw_path_id path = sample->path, python = fold->python[path];
    enum dw_line_metric part = part_of(sample->state);
    for (size_t i = 0; i < 2; i++) {
        uint64_t *leaf = path ? values_of(fold, kinds[i], path) : NULL;
        uint64_t *split = python ? values_of(fold, kinds[i], python) : NULL;
        if (leaf && !leaf[DW_LINE_HITS])
            leaf[DW_LINE_SELF] += sample->weight;
        if (split && part != DW_LINE_SELF)
            split[part] += sample->weight;
    }
}

static void split_samples(struct line_fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    struct dw_sample sample;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t at = 0; dw_profile_sample(profile, t, &at, &sample);)
            split_sample(fold, &sample);
}

/* Rows get the samples of the paths that they are outermost in. */
static int add_totals(struct line_fold *fold, const uint32_t *row_of)
{
    for (dw_path_id path = 0; path < fold->count; path++)
        fold->keys[path] = row_of[fold->paths[path].step] + 1; /* 0: no row */
    int error = dw_outermost_find(fold->paths, sizeof *fold->paths, fold->count, fold->keys,
                                  fold->profile->lines.count + 1, fold->outermost);
    for (dw_path_id path = 1; path < fold->count && !error; path++) {
        if (!fold->keys[path] || !fold->outermost[path])
            continue;
        uint64_t *values = values_of(fold, row_of, path);
        values[DW_LINE_SAMPLES] += fold->sums[path].count;
        values[DW_LINE_TOTAL] += fold->sums[path].weight;
    }
    return error;
}

/* No row for any place yet. */
static uint32_t *make_rows(const struct dw_profile *profile)
{
    size_t size = (profile->places.count + 1u) * sizeof(uint32_t);
    uint32_t *rows = malloc(size);
    return rows ? memset(rows, 0xff, size) : NULL;
}

static int make_room(struct line_fold *fold)
{
    fold->line_of = make_rows(fold->profile);
    fold->whole_of = make_rows(fold->profile);
    fold->sums = calloc(fold->count + 1u, sizeof *fold->sums);
    fold->python = calloc(fold->count + 1u, sizeof *fold->python);
    fold->keys = malloc(fold->count * sizeof *fold->keys);
    fold->outermost = malloc(fold->count * sizeof *fold->outermost);
    return fold->line_of && fold->whole_of && fold->sums && fold->python && fold->keys &&
                   fold->outermost
               ? 0
               : DW_ERR_MEMORY;
}

static void release(struct line_fold *fold)
{
    free(fold->sums);
    free(fold->python);
    free(fold->line_of);
    free(fold->whole_of);
    free(fold->keys);
    free(fold->outermost);
}

static void copy_hits(const struct dw_value_table *values, const struct dw_value_row *row,
                      struct dw_line *line)
{
    static const struct {
        enum dw_line_metric metric;
        enum dw_measure measure;
    } pairs[] = {
        {DW_LINE_HITS, DW_HITS},
        {DW_LINE_TIME, DW_HIT_TIME},
        {DW_LINE_SELF, DW_HIT_SELF},
        {DW_LINE_INCLUSIVE, DW_HIT_INCLUSIVE},
        {DW_LINE_SUSPENDED, DW_HIT_SUSPENDED},
        {DW_LINE_MEMORY, DW_LINE_RSS},
        {DW_LINE_GROWTH, DW_LINE_GROWN},
        {DW_LINE_SHRINKING, DW_LINE_SHRUNK},
        {DW_LINE_RISE, DW_LINE_HIGH},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        line->values[pairs[i].metric] = dw_value_get(values, row, pairs[i].measure);
    line->values[DW_LINE_HITS] += dw_value_get(values, row, DW_LINE_CALLS);
}

static int fold_row(struct dw_profile *profile, const struct dw_value_table *values,
                    const struct dw_value_row *row)
{
    const struct dw_path *path = &profile->paths.paths[row->path];
    const struct dw_place *places = profile->places.places, *place = &places[path->step];
    struct dw_line line = {.function = place->frame, .line = place->line};
    int error = 0;
    if (row->mask & (DW_HIT_MASK | DW_MASK(DW_LINE_CALLS))) {
        copy_hits(values, row, &line);
        error = dw_line_add(&profile->lines, &line);
    }
    if (error || !(row->mask & DW_CALLEE_MASK))
        return error;
    const struct dw_place *caller = &places[profile->paths.paths[path->parent].step];
    struct dw_line call = {.function = caller->frame, .line = caller->line, .callee = place->frame};
    call.values[DW_LINE_HITS] = dw_value_get(values, row, DW_CALLEE_CALLS);
    call.values[DW_LINE_TIME] = dw_value_get(values, row, DW_CALLEE_TIME);
    return dw_line_add(&profile->lines, &call);
}

int dw_rows_fold_lines(struct dw_profile *profile)
{
    int error = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; values->mask & DW_LINE_MASK && i < values->count && !error; i++)
            if (values->rows[i].mask & DW_LINE_MASK)
                error = fold_row(profile, values, &values->rows[i]);
    }
    return error;
}

int dw_samples_fold_lines(struct dw_profile *profile)
{
    struct line_fold fold = {
        .profile = profile, .paths = profile->paths.paths, .count = profile->paths.count};
    int error = make_room(&fold);
    if (!error) {
        add_sums(&fold);
        error = find_rows(&fold);
    }
    if (!error) {
        find_python(&fold);
        split_samples(&fold);
        error = add_totals(&fold, fold.line_of);
    }
    if (!error)
        error = add_totals(&fold, fold.whole_of);
    release(&fold);
    return error;
}
