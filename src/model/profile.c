/* SPDX-License-Identifier: MIT
 * A profile begins with the ids that all have: the empty string, the root frame, the root path, no
 * labels. */
#include "model/profile.h"

#include "base/intern.h"
#include "model/heap/heap_picture.h"

#include <string.h>

static int init_tables(struct dw_profile *profile)
{
    int error = dw_frame_table_init(&profile->frames, &profile->strings);
    if (!error)
        error = dw_path_tree_init(&profile->paths);
    if (!error)
        error = dw_place_table_init(&profile->places);
    if (!error)
        error = dw_label_table_init(&profile->labels);
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

void dw_thread_release(struct dw_thread *thread)
{
    dw_value_table_release(&thread->values);
    free(thread->timed);
    free(thread->changes);
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
    for (uint32_t i = 0; i < profile->process_count; i++) {
        free(profile->processes[i].properties);
        free(profile->processes[i].moments_ns);
    }
    for (uint32_t i = 0; i < profile->path_map_count; i++)
        free(profile->path_maps[i].paths);
    for (uint32_t i = 0; i < profile->block_count; i++)
        free(profile->blocks[i].payload);
    for (uint32_t i = 0; i < profile->timing_count; i++)
        dw_timing_release(&profile->timings[i]);
    for (uint32_t i = 0; i < profile->series_count; i++)
        dw_series_release(&profile->series[i]);
    for (uint32_t i = 0; i < profile->heap_count; i++)
        dw_heap_release(&profile->heaps[i].heap);
    dw_map_release(&profile->uuids);
    dw_map_release(&profile->source_index);
    free(profile->timings);
    free(profile->threads);
    free(profile->processes);
    free(profile->sources);
    free(profile->series);
    free(profile->heaps);
    free(profile->blocks);
    free(profile->path_maps);
    free(profile->modules);
    dw_label_table_release(&profile->labels);
    dw_path_tree_release(&profile->functions);
    free(profile->function_of);
    dw_place_table_release(&profile->places);
    dw_line_table_release(&profile->lines);
    dw_path_tree_release(&profile->paths);
    dw_frame_table_release(&profile->frames);
    dw_string_table_release(&profile->strings);
    free(profile);
}

void dw_path_map_clear(struct dw_path_map *map)
{
    free(map->paths);
    *map = (struct dw_path_map){.lost = map->lost};
}

void dw_profile_forget(struct dw_profile *profile)
{
    for (; profile->forgotten_threads < profile->thread_count; profile->forgotten_threads++) {
        struct dw_thread *thread = &profile->threads[profile->forgotten_threads];
        dw_thread_release(thread);
        thread->timed = NULL;
        thread->changes = NULL;
        thread->timed_count = thread->timed_capacity = thread->block_count = 0;
        thread->change_count = thread->change_capacity = 0;
    }
    for (; profile->forgotten_path_maps < profile->path_map_count; profile->forgotten_path_maps++)
        dw_path_map_clear(&profile->path_maps[profile->forgotten_path_maps]);
    for (uint32_t i = 0; i < profile->block_count; i++)
        free(profile->blocks[i].payload);
    profile->block_count = 0;
    for (uint32_t i = 0; i < profile->series_count; i++)
        dw_series_release(&profile->series[i]);
    profile->series_count = 0;
    for (uint32_t i = 0; i < profile->heap_count; i++)
        dw_heap_release(&profile->heaps[i].heap);
    profile->heap_count = 0;
}

int dw_profile_add_source(struct dw_profile *profile, const struct dw_source *source)
{
    uint32_t id;
    return DW_INTERN(profile->sources, profile->source_count, profile->source_capacity,
                     profile->source_index, sizeof *source, source, &id);
}

static bool same_uuid(const void *processes, uint32_t id, const void *key)
{
    return !memcmp(((const struct dw_process *)processes)[id].uuid, key, 16);
}

int dw_process_index(const struct dw_profile *profile, struct dw_map *uuids, uint32_t index)
{
    static const uint8_t unknown[16];
    if (same_uuid(profile->processes, index, unknown))
        return 0;
    return dw_map_put(uuids, dw_hash_bytes(profile->processes[index].uuid, 16), index);
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

dw_measure_mask dw_profile_measures(const struct dw_profile *profile)
{
    dw_measure_mask mask = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        mask |= profile->threads[i].values.mask;
    return mask;
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
