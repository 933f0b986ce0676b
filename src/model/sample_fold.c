/* SPDX-License-Identifier: MIT
 * Paths are made once for each stack. In a thread the time goes to the path of each sample's
 * leaf first, and from there, children before parents, to all that lie under it. */
#include "model/sample_fold.h"

#include "base/grow.h"
#include "model/extension_names.h"
#include "model/line_fold.h"
#include "model/parts.h"

struct fold {
    struct dw_profile *profile;
    dw_path_id *path_of;  /* by stack */
    struct dw_sample *at; /* by path: what the thread spent there; its state marks the path */
    uint32_t *touched;    /* paths with a mark */
    uint32_t touched_count;
};

static int make_path(struct fold *fold, dw_path_id stack)
{
    struct dw_profile *profile = fold->profile;
    dw_place_id chain[DW_INLINED_PLACES_MAX];
    dw_path_id path = fold->path_of[profile->stacks.paths[stack].parent];
    uint32_t count = dw_place_spell(profile, profile->stacks.paths[stack].frame, chain);
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
    if (dw_thread_reserve(&profile->threads[thread], fold->touched_count))
        return DW_ERR_MEMORY;
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
        if (!above && path != DW_PATH_ROOT)
            return DW_ERR_MEMORY;
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

static int fold_thread(struct fold *fold, uint32_t thread)
{
    const struct dw_sample_table *samples = &fold->profile->threads[thread].samples;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct dw_sample *sample = &samples->samples[i];
        dw_path_id path = fold->path_of[sample->stack];
        touch(fold, path);
        fold->at[path].count += sample->count;
        fold->at[path].weight_ns += sample->weight_ns;
    }
    return add_to_paths(fold, thread);
}

static int make_room(struct fold *fold)
{
    const struct dw_profile *profile = fold->profile;
    fold->path_of = calloc(profile->stacks.count + 1u, sizeof *fold->path_of);
    int error = fold->path_of ? make_paths(fold) : DW_ERR_MEMORY;
    if (error)
        return error;
    fold->at = calloc(profile->paths.count + 1u, sizeof *fold->at);
    fold->touched = malloc((profile->paths.count + 1u) * sizeof *fold->touched);
    return fold->at && fold->touched ? 0 : DW_ERR_MEMORY;
}

static bool any_is_bare(const struct dw_profile *profile)
{
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t i = 0; i < profile->threads[t].samples.count; i++)
            if (profile->threads[t].samples.samples[i].stack == DW_PATH_ROOT)
                return true;
    return false;
}

static int make_mark(struct dw_profile *profile, const char *name, dw_path_id *stack)
{
    struct dw_frame frame = {.kind = DW_FRAME_MARK};
    struct dw_place place = {0};
    dw_place_id id;
    int error = dw_string_intern(&profile->strings, name, strlen(name), &frame.name);
    if (!error)
        error = dw_frame_intern(&profile->frames, &frame, &place.frame);
    if (!error)
        error = dw_place_intern(&profile->places, &place, &id);
    return error ? error : dw_path_intern(&profile->stacks, DW_PATH_ROOT, id, stack);
}

/* Samples without frames get one that says so: their time is part of the whole in all that is made
 * of samples, and most formats have no place for what is in no function. */
static int mark_bare(struct dw_profile *profile)
{
    dw_path_id mark;
    if (!any_is_bare(profile))
        return 0;
    int error = make_mark(profile, "[no frames]", &mark);
    if (error)
        return error;
    dw_path_id *new_of = malloc(profile->stacks.count * sizeof *new_of);
    if (!new_of)
        return DW_ERR_MEMORY;
    for (dw_path_id stack = 0; stack < profile->stacks.count; stack++)
        new_of[stack] = stack == DW_PATH_ROOT ? mark : stack;
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        error = dw_thread_move_samples(&profile->threads[i], new_of);
    free(new_of);
    return error;
}

static int fold_paths(struct dw_profile *profile)
{
    struct fold fold = {.profile = profile};
    int error = make_room(&fold);
    for (uint32_t i = 0; i < profile->thread_count && !error; i++)
        if (profile->threads[i].samples.count)
            error = fold_thread(&fold, i);
    free(fold.path_of);
    free(fold.at);
    free(fold.touched);
    return error;
}

int dw_samples_fold(struct dw_profile *profile)
{
    if (!dw_samples_are_in(profile))
        return 0;
    bool has_entries = dw_entries_are_in(profile); /* paths that have other times */
    int error = dw_samples_name_extensions(profile);
    if (!error)
        error = mark_bare(profile);
    if (!error)
        error = dw_samples_fold_lines(profile);
    return error || has_entries ? error : fold_paths(profile);
}
