/* SPDX-License-Identifier: MIT
 * Parents come before their children, so one walk finds the task of every path. */
#include "model/prepare/task_labels.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define MARK "task "
#define KEY "task"

/* The name of the task that the place is the mark of, or 0. */
static int find_task(struct dw_profile *profile, dw_place_id place, dw_string_id *task)
{
    const struct dw_frame *frame = &profile->frames.frames[profile->places.places[place].frame];
    struct dw_string name = dw_profile_string(profile, frame->name);
    size_t prefix = strlen(MARK);
    *task = 0;
    if (frame->kind != DW_FRAME_MARK || name.size <= prefix ||
        memcmp(name.bytes, MARK, prefix) != 0)
        return 0;
    return dw_string_intern(&profile->strings, name.bytes + prefix, name.size - prefix, task);
}

/* By path; *any: whether there is one at all. */
static int find_tasks(struct dw_profile *profile, dw_string_id *tasks, bool *any)
{
    const struct dw_path *paths = profile->paths.paths;
    int error = 0;
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++) {
        error = find_task(profile, paths[path].step, &tasks[path]);
        *any |= tasks[path] != 0;
        tasks[path] = tasks[path] ? tasks[path] : tasks[paths[path].parent];
    }
    return error;
}

static int add_label(struct dw_profile *profile, struct dw_label label, dw_labels_id *labels)
{
    struct dw_label_set set = profile->labels.sets[*labels];
    struct dw_label pairs[DW_LABELS_MAX];
    if (!label.value || set.count == DW_LABELS_MAX)
        return 0;
    if (set.count)
        memcpy(pairs, &profile->labels.pairs[set.first], set.count * sizeof *pairs);
    pairs[set.count] = label;
    return dw_labels_intern(&profile->labels, set.state, pairs, set.count + 1, labels);
}

static int label_rows(struct dw_profile *profile, struct dw_thread *thread, dw_string_id key,
                      const dw_string_id *tasks)
{
    struct dw_value_table labelled = {0};
    int error = 0;
    for (uint32_t i = 0; i < thread->values.count && !error; i++) {
        struct dw_value_row row = thread->values.rows[i];
        if (row.mask & DW_SAMPLE_MASK)
            error = add_label(profile, (struct dw_label){key, tasks[row.path]}, &row.labels);
        if (!error)
            error = dw_value_row_merge(&labelled, &thread->values, &row);
    }
    for (uint32_t i = 0; i < thread->timed_count && !error; i++)
        error = add_label(profile, (struct dw_label){key, tasks[thread->timed[i].path]},
                          &thread->timed[i].labels);
    dw_value_table_release(error ? &labelled : &thread->values);
    if (!error)
        thread->values = labelled;
    return error;
}

int dw_samples_label_tasks(struct dw_profile *profile)
{
    dw_string_id key, *tasks = calloc(profile->paths.count + 1u, sizeof *tasks);
    bool any = false;
    int error = tasks ? find_tasks(profile, tasks, &any) : DW_ERR_MEMORY;
    if (!error && any)
        error = dw_string_intern(&profile->strings, KEY, strlen(KEY), &key);
    for (uint32_t i = 0; i < profile->thread_count && any && !error; i++)
        if (dw_thread_is_sampled(&profile->threads[i]))
            error = label_rows(profile, &profile->threads[i], key, tasks);
    free(tasks);
    return error;
}
