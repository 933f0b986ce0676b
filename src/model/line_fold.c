/* SPDX-License-Identifier: MIT
 * Samples are added up by stack first. What lies under a stack is then known at once, so a line
 * gets the samples of all stacks that it is outermost in, and no stack is walked twice: with
 * stacks as deep as there are samples that would take forever. */
#include "model/line_fold.h"

#include "base/error.h"
#include "model/outermost.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    uint64_t count, weight_ns;
};

struct line_fold {
    struct dw_profile *profile;
    struct dw_path *paths; /* `frame` is a place: stacks with inlined functions spelled out */
    uint32_t count;
    dw_path_id *path_of; /* by stack; 0: no sample has it on its stack */
    struct sums *sums;   /* by path: samples on it, then also those under it */
    dw_path_id *python;  /* by path: the innermost Python code on the way to it; 0: none */
    uint32_t *line_of;   /* by place: the row of its line, and that of its function */
    uint32_t *whole_of;  /* DW_MAP_NONE: it has none */
    uint32_t *keys;      /* by path */
    bool *outermost;
};

uint32_t dw_place_spell(const struct dw_profile *profile, dw_place_id place,
                        dw_place_id chain[DW_INLINED_PLACES_MAX])
{
    uint32_t count = 0;
    for (; place && count < DW_INLINED_PLACES_MAX; place = profile->places.places[place].outer)
        chain[count++] = place;
    return count;
}

/* Marks the stacks that some sample stands on. Others are of frames that are not shown. */
static void mark_sampled(struct line_fold *fold)
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

/* How many paths the stacks with a mark make. */
static uint64_t count_paths(const struct line_fold *fold)
{
    const struct dw_path_tree *stacks = &fold->profile->stacks;
    dw_place_id chain[DW_INLINED_PLACES_MAX];
    uint64_t count = 1;
    for (dw_path_id stack = 1; stack < stacks->count; stack++)
        if (fold->path_of[stack])
            count += dw_place_spell(fold->profile, stacks->paths[stack].frame, chain);
    return count;
}

static void add_stack(struct line_fold *fold, dw_path_id stack)
{
    const struct dw_path *from = &fold->profile->stacks.paths[stack];
    dw_place_id chain[DW_INLINED_PLACES_MAX];
    dw_path_id path = fold->path_of[from->parent];
    uint32_t left = dw_place_spell(fold->profile, from->frame, chain);
    while (left--) {
        fold->paths[fold->count] = (struct dw_path){path, chain[left]};
        path = fold->count++;
    }
    fold->path_of[stack] = path;
}

static int add_stacks(struct line_fold *fold)
{
    mark_sampled(fold);
    uint64_t count = count_paths(fold);
    if (count >= UINT32_MAX)
        return DW_ERR_TOO_LARGE;
    fold->paths = calloc(count, sizeof *fold->paths);
    if (!fold->paths)
        return DW_ERR_MEMORY;
    fold->count = 1; /* the root */
    for (dw_path_id stack = 1; stack < fold->profile->stacks.count; stack++)
        if (fold->path_of[stack])
            add_stack(fold, stack);
    return 0;
}

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
        dw_place_id id = fold->paths[path].frame;
        const struct dw_place *place = &fold->profile->places.places[id];
        if (!place->line || fold->line_of[id] != DW_MAP_NONE)
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
        fold->python[path] = is_python(fold->profile, fold->paths[path].frame)
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
    uint32_t row = row_of[fold->paths[path].frame];
    return row == DW_MAP_NONE ? NULL : fold->profile->lines.lines[row].values;
}

/* What the thread did is told of its innermost Python line; of the innermost line of all only
 * that it was there. Of lines that were watched that was measured. */
static void add_sample(struct line_fold *fold, const struct dw_sample *sample)
{
    const uint32_t *const kinds[] = {fold->line_of, fold->whole_of};
    dw_path_id path = fold->path_of[sample->stack], python = fold->python[path];
    enum dw_line_metric part = part_of(sample->state);
    fold->sums[path].count += sample->count;
    fold->sums[path].weight_ns += sample->weight_ns;
    for (size_t i = 0; i < 2; i++) {
        uint64_t *leaf = path ? values_of(fold, kinds[i], path) : NULL;
        uint64_t *split = python ? values_of(fold, kinds[i], python) : NULL;
        if (leaf && !leaf[DW_LINE_HITS])
            leaf[DW_LINE_SELF] += sample->weight_ns;
        if (split && part != DW_LINE_SELF)
            split[part] += sample->weight_ns;
    }
}

static void add_samples(struct line_fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t i = 0; i < profile->threads[t].samples.count; i++)
            add_sample(fold, &profile->threads[t].samples.samples[i]);
    for (dw_path_id path = fold->count; path-- > 1;) {
        struct sums *above = &fold->sums[fold->paths[path].parent];
        above->count += fold->sums[path].count;
        above->weight_ns += fold->sums[path].weight_ns;
    }
}

/* Rows get the samples of the paths that they are outermost in. */
static int add_totals(struct line_fold *fold, const uint32_t *row_of)
{
    for (dw_path_id path = 0; path < fold->count; path++)
        fold->keys[path] = row_of[fold->paths[path].frame] + 1; /* 0: no row */
    int error = dw_outermost_find(fold->paths, fold->count, fold->keys,
                                  fold->profile->lines.count + 1, fold->outermost);
    for (dw_path_id path = 1; path < fold->count && !error; path++) {
        if (!fold->keys[path] || !fold->outermost[path])
            continue;
        uint64_t *values = values_of(fold, row_of, path);
        values[DW_LINE_SAMPLES] += fold->sums[path].count;
        values[DW_LINE_TOTAL] += fold->sums[path].weight_ns;
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
    const struct dw_profile *profile = fold->profile;
    fold->path_of = calloc(profile->stacks.count + 1u, sizeof *fold->path_of);
    fold->line_of = make_rows(profile);
    fold->whole_of = make_rows(profile);
    int error = fold->path_of && fold->line_of && fold->whole_of ? 0 : DW_ERR_MEMORY;
    if (!error)
        error = add_stacks(fold);
    if (!error)
        error = find_rows(fold);
    if (error)
        return error;
    fold->sums = calloc(fold->count + 1u, sizeof *fold->sums);
    fold->python = calloc(fold->count + 1u, sizeof *fold->python);
    fold->keys = malloc(fold->count * sizeof *fold->keys);
    fold->outermost = malloc(fold->count * sizeof *fold->outermost);
    return fold->sums && fold->python && fold->keys && fold->outermost ? 0 : DW_ERR_MEMORY;
}

static void release(struct line_fold *fold)
{
    free(fold->paths);
    free(fold->path_of);
    free(fold->sums);
    free(fold->python);
    free(fold->line_of);
    free(fold->whole_of);
    free(fold->keys);
    free(fold->outermost);
}

int dw_samples_fold_lines(struct dw_profile *profile)
{
    struct line_fold fold = {.profile = profile};
    int error = make_room(&fold);
    if (!error) {
        find_python(&fold);
        add_samples(&fold);
        error = add_totals(&fold, fold.line_of);
    }
    if (!error)
        error = add_totals(&fold, fold.whole_of);
    release(&fold);
    return error;
}
