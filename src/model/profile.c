/* SPDX-License-Identifier: MIT */
#include "model/profile.h"

#include "base/grow.h"

#include <string.h>

static int init_tables(struct dw_profile *profile)
{
    int error = dw_frame_table_init(&profile->frames, &profile->strings);
    if (!error)
        error = dw_path_tree_init(&profile->paths);
    if (!error)
        error = dw_place_table_init(&profile->places);
    if (!error)
        error = dw_path_tree_init(&profile->stacks);
    return error;
}

int dw_profile_new(struct dw_profile **result)
{
    struct dw_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return DW_ERR_MEMORY;
    int error = init_tables(profile);
    if (error)
        dw_profile_free(profile);
    else
        *result = profile;
    return error;
}

int dw_thread_reserve(struct dw_thread *thread, uint32_t count)
{
    size_t wanted = (size_t)thread->metric_count + count;
    if (wanted <= thread->metric_capacity)
        return 0;
    void *grown =
        wanted <= UINT32_MAX ? realloc(thread->metrics, wanted * sizeof *thread->metrics) : NULL;
    if (!grown)
        return DW_ERR_MEMORY;
    thread->metrics = grown;
    thread->metric_capacity = (uint32_t)wanted;
    return 0;
}

void dw_thread_release(struct dw_thread *thread)
{
    for (uint32_t i = 0; i < thread->metric_count; i++)
        dw_metric_release(&thread->metrics[i].metric);
    free(thread->metrics);
    dw_map_release(&thread->index);
    dw_sample_table_release(&thread->samples);
    free(thread->timed);
}

int dw_thread_move_samples(struct dw_thread *thread, const dw_path_id *new_of)
{
    struct dw_sample_table moved = {0};
    for (uint32_t i = 0; i < thread->samples.count; i++) {
        const struct dw_sample *old = &thread->samples.samples[i];
        struct dw_sample *sample = dw_sample_get(&moved, new_of[old->stack], old->state);
        if (!sample) {
            dw_sample_table_release(&moved);
            return DW_ERR_MEMORY;
        }
        sample->count += old->count;
        sample->weight_ns += old->weight_ns;
    }
    for (uint32_t i = 0; i < thread->timed_count; i++)
        thread->timed[i].stack = new_of[thread->timed[i].stack];
    dw_sample_table_release(&thread->samples);
    thread->samples = moved;
    return 0;
}

void dw_timing_release(struct dw_timing *timing)
{
    free(timing->properties);
    free(timing->runs_ns);
}

void dw_profile_free(struct dw_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        dw_thread_release(&profile->threads[i]);
    for (uint32_t i = 0; i < profile->process_count; i++)
        free(profile->processes[i].properties);
    for (uint32_t i = 0; i < profile->path_map_count; i++)
        free(profile->path_maps[i].paths);
    for (uint32_t i = 0; i < profile->block_count; i++)
        free(profile->blocks[i].payload);
    for (uint32_t i = 0; i < profile->timing_count; i++)
        dw_timing_release(&profile->timings[i]);
    dw_map_release(&profile->uuids);
    free(profile->timings);
    free(profile->threads);
    free(profile->processes);
    free(profile->sources);
    free(profile->blocks);
    free(profile->path_maps);
    free(profile->modules);
    dw_path_tree_release(&profile->stacks);
    dw_place_table_release(&profile->places);
    dw_line_table_release(&profile->lines);
    dw_path_tree_release(&profile->paths);
    dw_frame_table_release(&profile->frames);
    dw_string_table_release(&profile->strings);
    free(profile);
}

static bool same_uuid(const void *processes, uint32_t id, const void *key)
{
    return !memcmp(((const struct dw_process *)processes)[id].uuid, key, 16);
}

static uint64_t hash_uuid(const void *processes, uint32_t id)
{
    return dw_hash_bytes(((const struct dw_process *)processes)[id].uuid, 16);
}

int dw_process_index(const struct dw_profile *profile, struct dw_map *uuids, uint32_t index)
{
    static const uint8_t unknown[16];
    if (same_uuid(profile->processes, index, unknown))
        return 0;
    return dw_map_add(uuids, hash_uuid(profile->processes, index), index, hash_uuid,
                      profile->processes);
}

uint32_t dw_process_find(const struct dw_profile *profile, const struct dw_map *uuids,
                         const uint8_t uuid[16])
{
    return dw_map_find(uuids, dw_hash_bytes(uuid, 16), same_uuid, profile->processes, uuid);
}

int dw_profile_index_processes(struct dw_profile *profile)
{
    int error = 0;
    for (; profile->indexed_processes < profile->process_count && !error;
         profile->indexed_processes += !error)
        error = dw_process_index(profile, &profile->uuids, profile->indexed_processes);
    return error;
}

static bool same_path(const void *entries, uint32_t id, const void *key)
{
    return ((const struct dw_thread_metric *)entries)[id].path == *(const dw_path_id *)key;
}

/* Paths tend to come in the order of their ids, so neighbours are neighbours in the index too. */
static uint64_t hash_path(dw_path_id path)
{
    return dw_hash_mix(path / 8) << 3 | path % 8;
}

static uint64_t hash_of(const void *entries, uint32_t id)
{
    return hash_path(((const struct dw_thread_metric *)entries)[id].path);
}

struct dw_metric *dw_profile_metric(struct dw_profile *profile, uint32_t thread_index,
                                    dw_path_id path)
{
    struct dw_thread *thread = &profile->threads[thread_index];
    uint64_t hash = hash_path(path);
    if (thread->next_metric < thread->metric_count &&
        thread->metrics[thread->next_metric].path == path)
        return &thread->metrics[thread->next_metric++].metric;
    uint32_t found = dw_map_find(&thread->index, hash, same_path, thread->metrics, &path);
    if (found != DW_MAP_NONE) {
        thread->next_metric = found + 1;
        return &thread->metrics[found].metric;
    }
    if (DW_GROW(thread->metrics, thread->metric_count, thread->metric_capacity))
        return NULL;
    thread->metrics[thread->metric_count] = (struct dw_thread_metric){.path = path};
    if (dw_map_add(&thread->index, hash, thread->metric_count, hash_of, thread->metrics))
        return NULL;
    return &thread->metrics[thread->metric_count++].metric;
}

static struct dw_string find_property(const struct dw_profile *profile,
                                      const struct dw_property *properties, uint32_t count,
                                      const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(dw_profile_string(profile, properties[i].key).bytes, key) == 0)
            return dw_profile_string(profile, properties[i].value);
    return dw_profile_string(profile, 0);
}

struct dw_string dw_profile_property(const struct dw_profile *profile, uint32_t process,
                                     const char *key)
{
    const struct dw_process *owner = &profile->processes[process];
    return find_property(profile, owner->properties, owner->property_count, key);
}

struct dw_string dw_profile_timing_property(const struct dw_profile *profile,
                                            const struct dw_timing *timing, const char *key)
{
    return find_property(profile, timing->properties, timing->property_count, key);
}

uint64_t dw_process_duration_ns(const struct dw_process *process)
{
    return process->last_clock.monotonic_ns - process->first_clock.monotonic_ns;
}
