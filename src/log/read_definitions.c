/* SPDX-License-Identifier: MIT
 * What the numbers in a log refer to: processes, threads, strings, frames, paths, sources. Every
 * id in a log is mapped to an id of the profile at the edge, here; an id whose definition was
 * lost maps to a frame named so, never to a wrong one. */
#include "log/reading.h"

#include "base/grow.h"
#include "model/moments.h"

#include <string.h>

#define PROPERTIES_MAX 256 /* of one process or timing */

int dw_id_map_set(struct dw_reading *reading, struct dw_id_map *map, uint32_t id, uint32_t value,
                  uint32_t filler)
{
    uint32_t gap = id > map->count ? id - map->count : 0;
    if (id >= DW_LOG_IDS_MAX)
        return DW_ERR_TOO_LARGE;
    if (gap > reading->limits->gap_ids)
        return DW_ERR_DAMAGED;
    reading->limits->gap_ids -= gap;
    while (map->count <= id) {
        int error = DW_GROW(map->ids, map->count, map->capacity);
        if (error)
            return error;
        map->ids[map->count++] = filler;
    }
    map->ids[id] = value;
    return 0;
}

struct dw_path_map *dw_reading_paths(struct dw_reading *reading)
{
    return &reading->profile->path_maps[reading->paths];
}

dw_path_id dw_reading_path(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return dw_path_map_get(dw_reading_paths(reading), dw_cursor_get_u32(cursor));
}

static struct dw_clock_pair get_clock(struct dw_cursor *cursor)
{
    struct dw_clock_pair clock;
    clock.tick = dw_cursor_get(cursor);
    clock.monotonic_ns = dw_cursor_get(cursor);
    clock.wall_ns = dw_cursor_get(cursor);
    return clock;
}

int dw_reading_name(struct dw_reading *reading, struct dw_cursor *cursor, dw_string_id *id)
{
    size_t size;
    const uint8_t *bytes = dw_cursor_get_blob(cursor, &size);
    return bytes ? dw_string_intern_name(&reading->profile->strings, bytes, size, id)
                 : DW_ERR_DAMAGED;
}

int dw_reading_properties(struct dw_reading *reading, struct dw_cursor *cursor,
                          struct dw_property **properties, uint32_t *property_count,
                          uint32_t *capacity)
{
    uint64_t count = dw_cursor_get(cursor);
    if (count > PROPERTIES_MAX)
        return DW_ERR_DAMAGED;
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        struct dw_property property;
        int error = dw_reading_name(reading, cursor, &property.key);
        if (!error)
            error = dw_reading_name(reading, cursor, &property.value);
        if (!error)
            error = DW_GROW(*properties, *property_count, *capacity);
        if (error)
            return error;
        (*properties)[(*property_count)++] = property;
    }
    return 0;
}

/* A process whose description was lost has a uuid of zeros, and never counts as read
 * before. Neither does one that another stream of this log describes too. */
static bool is_known(const struct dw_reading *reading, const struct dw_process *process)
{
    return dw_process_find(reading->profile, &reading->profile->uuids, process->uuid) !=
               DW_MAP_NONE ||
           dw_process_find(reading->profile, &reading->uuids, process->uuid) != DW_MAP_NONE;
}

static int add_process(struct dw_reading *reading, uint32_t id, const struct dw_process *process)
{
    struct dw_profile *profile = reading->profile;
    int error = DW_GROW(profile->processes, profile->process_count, profile->process_capacity);
    if (!error)
        error =
            dw_id_map_set(reading, &reading->processes, id, profile->process_count, DW_MAP_NONE);
    if (error)
        return error;
    profile->processes[profile->process_count] = *process;
    error = dw_process_index(profile, &reading->uuids, profile->process_count);
    profile->process_count += !error;
    return error;
}

int dw_read_process(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    struct dw_process process = {.path_map = reading->paths};
    if (cursor->bad || cursor->end - cursor->at < (ptrdiff_t)sizeof process.uuid)
        return DW_ERR_DAMAGED;
    memcpy(process.uuid, cursor->at, sizeof process.uuid);
    cursor->at += sizeof process.uuid;
    process.pid = dw_cursor_get(cursor);
    process.first_clock = process.last_clock = get_clock(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    if (is_known(reading, &process))
        return DW_ERR_DUPLICATE;
    int error = dw_reading_properties(reading, cursor, &process.properties, &process.property_count,
                                      &process.property_capacity);
    if (!error)
        error = add_process(reading, id, &process);
    if (error)
        free(process.properties);
    return error;
}

int dw_reading_process(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t *index)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    *index = dw_id_map_get(&reading->processes, id, DW_MAP_NONE);
    if (*index != DW_MAP_NONE)
        return 0;
    struct dw_process unknown = {.path_map = reading->paths};
    *index = reading->profile->process_count;
    return add_process(reading, id, &unknown);
}

/* What comes later takes the place of what was said of the same key. */
static int set_property(struct dw_process *process, const struct dw_property *property)
{
    for (uint32_t i = 0; i < process->property_count; i++)
        if (process->properties[i].key == property->key) {
            process->properties[i] = *property;
            return 0;
        }
    if (process->property_count >= PROPERTIES_MAX)
        return DW_ERR_DAMAGED;
    int error = DW_GROW(process->properties, process->property_count, process->property_capacity);
    if (!error)
        process->properties[process->property_count++] = *property;
    return error;
}

int dw_read_properties(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index, count = 0, capacity = 0;
    struct dw_property *properties = NULL;
    int error = dw_reading_process(reading, cursor, &index);
    if (!error)
        error = dw_reading_properties(reading, cursor, &properties, &count, &capacity);
    for (uint32_t i = 0; i < count && !error; i++)
        error = set_property(&reading->profile->processes[index], &properties[i]);
    free(properties);
    return error;
}

int dw_read_clock(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index;
    int error = dw_reading_process(reading, cursor, &index);
    struct dw_clock_pair clock = get_clock(cursor);
    if (error || cursor->bad)
        return error ? error : DW_ERR_DAMAGED;
    struct dw_process *process = &reading->profile->processes[index];
    if (!process->first_clock.wall_ns)
        process->first_clock = clock;
    if (clock.tick > process->last_clock.tick)
        process->last_clock = clock;
    process->ended = false; /* an end that was none: the process did not exec after all */
    return dw_reading_has_moments(reading) ? dw_moments_note_clock(process, &clock) : 0;
}

int dw_read_end(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index;
    int error = dw_reading_process(reading, cursor, &index);
    if (error)
        return error;
    struct dw_process *process = &reading->profile->processes[index];
    process->dropped = dw_cursor_get(cursor);
    process->is_reported = !cursor->bad && cursor->at < cursor->end && dw_cursor_get(cursor);
    process->ended = true;
    return 0;
}

int dw_read_strings(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    while (!cursor->bad && cursor->at < cursor->end) {
        dw_string_id string;
        int error = dw_reading_name(reading, cursor, &string);
        if (!error)
            error = dw_id_map_set(reading, &reading->strings, id++, string, reading->lost_string);
        if (error)
            return error;
    }
    return 0;
}

int dw_read_frames(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    while (!cursor->bad && cursor->at < cursor->end) {
        struct dw_frame frame = {.kind = dw_cursor_get_u32(cursor)};
        frame.name =
            dw_id_map_get(&reading->strings, dw_cursor_get_u32(cursor), reading->lost_string);
        frame.file = dw_id_map_get(&reading->strings, dw_cursor_get_u32(cursor), 0);
        frame.line = dw_cursor_get_u32(cursor);
        if (cursor->bad)
            break;
        dw_frame_id mapped = 0;
        int error = frame.kind == DW_FRAME_ROOT
                        ? 0
                        : dw_frame_intern(&reading->profile->frames, &frame, &mapped);
        if (!error)
            error = dw_id_map_set(reading, &reading->frames, id++, mapped, reading->lost_frame);
        if (error)
            return error;
    }
    return 0;
}

/* A path of a frame, as older versions wrote them, is one of a place without a line. */
static int place_of_frame(struct dw_reading *reading, uint32_t id, dw_place_id *place)
{
    struct dw_place made = {.frame = dw_id_map_get(&reading->frames, id, reading->lost_frame)};
    return dw_place_intern(&reading->profile->places, &made, place);
}

static int find_path(struct dw_reading *reading, dw_path_id parent, dw_place_id place,
                     dw_path_id *path)
{
    struct dw_path_tree *tree = &reading->profile->paths;
    dw_path_id next = reading->next_path;
    bool is_next =
        next < tree->count && tree->paths[next].parent == parent && tree->paths[next].step == place;
    uint32_t known = tree->count;
    *path = next;
    int error = is_next ? 0 : dw_path_intern(tree, parent, place, path);
    if (*path < known)
        reading->next_path = *path + 1;
    return error;
}

static int read_path(struct dw_reading *reading, struct dw_cursor *cursor, struct dw_id_map *ids,
                     uint32_t id, bool of_frames)
{
    dw_path_id parent = dw_id_map_get(ids, dw_cursor_get_u32(cursor), reading->lost_path);
    uint32_t step = dw_cursor_get_u32(cursor);
    dw_place_id place = dw_id_map_get(&reading->places, step, reading->lost_place);
    dw_path_id path = DW_PATH_ROOT;
    if (cursor->bad)
        return 0;
    int error = of_frames ? place_of_frame(reading, step, &place) : 0;
    if (!error && id) /* place 0 stands for none: only the root has it */
        error = find_path(reading, parent, place ? place : reading->lost_place, &path);
    return error ? error : dw_id_map_set(reading, ids, id, path, reading->lost_path);
}

static int read_tree(struct dw_reading *reading, struct dw_cursor *cursor, struct dw_id_map *ids,
                     bool of_frames)
{
    int error = 0;
    for (uint32_t id = dw_cursor_get_u32(cursor);
         !error && !cursor->bad && cursor->at < cursor->end; id++)
        error = read_path(reading, cursor, ids, id, of_frames);
    return error;
}

/* The paths that rows and events name. */
static int read_path_map(struct dw_reading *reading, struct dw_cursor *cursor, bool of_frames)
{
    struct dw_path_map *map = dw_reading_paths(reading);
    struct dw_id_map ids = {map->paths, map->count, map->capacity};
    int error = read_tree(reading, cursor, &ids, of_frames);
    map->paths = ids.ids;
    map->count = ids.count;
    map->capacity = ids.capacity;
    return error;
}

int dw_read_paths(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return read_path_map(reading, cursor, true);
}

int dw_read_tree(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return read_path_map(reading, cursor, false);
}

int dw_read_stacks(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return read_tree(reading, cursor, &reading->stacks, false);
}

static int add_thread(struct dw_reading *reading, uint32_t id, const struct dw_thread *thread)
{
    struct dw_profile *profile = reading->profile;
    int error = DW_GROW(profile->threads, profile->thread_count, profile->thread_capacity);
    if (!error)
        error = dw_id_map_set(reading, &reading->threads, id, profile->thread_count, DW_MAP_NONE);
    if (!error)
        profile->threads[profile->thread_count++] = *thread;
    return error;
}

int dw_read_thread(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    struct dw_thread thread = {0};
    int error = dw_reading_process(reading, cursor, &thread.process);
    if (error)
        return error;
    thread.tid = dw_cursor_get(cursor);
    error = dw_reading_name(reading, cursor, &thread.name);
    if (error)
        return error;
    uint32_t known = dw_id_map_get(&reading->threads, id, DW_MAP_NONE);
    if (known == DW_MAP_NONE)
        return add_thread(reading, id, &thread);
    reading->profile->threads[known].name = thread.name;
    return 0;
}

/* An unknown thread is one of the log's first process. */
int dw_reading_thread(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t *index)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    if (cursor->bad)
        return DW_ERR_DAMAGED;
    *index = dw_id_map_get(&reading->threads, id, DW_MAP_NONE);
    if (*index != DW_MAP_NONE)
        return 0;
    static const uint8_t zero[1];
    struct dw_cursor first_process = {zero, zero + 1, false};
    struct dw_thread unknown = {.name = reading->lost_string};
    int error = dw_reading_process(reading, &first_process, &unknown.process);
    *index = reading->profile->thread_count;
    return error ? error : add_thread(reading, id, &unknown);
}

static int read_text(struct dw_reading *reading, struct dw_cursor *cursor, dw_string_id *id)
{
    size_t size;
    const uint8_t *bytes = dw_cursor_get_blob(cursor, &size);
    return bytes ? dw_string_intern(&reading->profile->strings, bytes, size, id) : DW_ERR_DAMAGED;
}

int dw_read_source(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_profile *profile = reading->profile;
    struct dw_source source;
    int error = dw_reading_name(reading, cursor, &source.file);
    if (!error)
        error = read_text(reading, cursor, &source.text);
    return error ? error : dw_profile_add_source(profile, &source);
}
