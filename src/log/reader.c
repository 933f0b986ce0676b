/* SPDX-License-Identifier: MIT
 * Every id in a log is mapped to an id of the profile at the edge, here; an id
 * whose definition was lost maps to a frame named so, never to a wrong one. */
#include "log/reader.h"

#include "base/file.h"
#include "base/grow.h"
#include "log/reading.h"

#include <string.h>
#include <zstd.h>

#define ID_MAX (1u << 24)            /* ids beyond this are nonsense */
#define DEFINITIONS_MAX (1ull << 30) /* bytes of decoded definitions that we accept */
#define LINES_MAX (1u << 22)         /* rows of line tables that we accept */
#define LOST_NAME "<lost>"

int dw_id_map_set(struct dw_id_map *map, uint32_t id, uint32_t value, uint32_t filler)
{
    if (id >= ID_MAX)
        return DW_ERR_TOO_LARGE;
    while (map->count <= id) {
        int error = DW_GROW(map->ids, map->count, map->capacity);
        if (error)
            return error;
        map->ids[map->count++] = filler;
    }
    map->ids[id] = value;
    return 0;
}

static struct dw_path_map *path_map(struct dw_reading *reading)
{
    return &reading->profile->path_maps[reading->paths];
}

static dw_path_id get_path(struct dw_reading *reading, struct dw_cursor *cursor)
{
    return dw_path_map_get(path_map(reading), dw_cursor_get_u32(cursor));
}

static struct dw_clock_pair get_clock(struct dw_cursor *cursor)
{
    struct dw_clock_pair clock;
    clock.tick = dw_cursor_get(cursor);
    clock.monotonic_ns = dw_cursor_get(cursor);
    clock.wall_ns = dw_cursor_get(cursor);
    return clock;
}

static int get_string(struct dw_reading *reading, struct dw_cursor *cursor, dw_string_id *id)
{
    size_t size;
    const uint8_t *bytes = dw_cursor_get_blob(cursor, &size);
    return bytes ? dw_string_intern(&reading->profile->strings, bytes, size, id) : DW_ERR_DAMAGED;
}

static int read_properties(struct dw_reading *reading, struct dw_cursor *cursor,
                           struct dw_property **properties, uint32_t *property_count,
                           uint32_t *capacity)
{
    uint64_t count = dw_cursor_get(cursor);
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        struct dw_property property;
        int error = get_string(reading, cursor, &property.key);
        if (!error)
            error = get_string(reading, cursor, &property.value);
        if (!error)
            error = DW_GROW(*properties, *property_count, *capacity);
        if (error)
            return error;
        (*properties)[(*property_count)++] = property;
    }
    return 0;
}

/* A process whose description was lost has a uuid of zeros and is nobody's double. */
static bool is_known(const struct dw_profile *profile, const uint8_t uuid[16])
{
    static const uint8_t unknown[16];
    if (!memcmp(uuid, unknown, 16))
        return false;
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!memcmp(profile->processes[i].uuid, uuid, 16))
            return true;
    return false;
}

static int add_process(struct dw_reading *reading, uint32_t id, const struct dw_process *process)
{
    struct dw_profile *profile = reading->profile;
    int error = DW_GROW(profile->processes, profile->process_count, profile->process_capacity);
    if (!error)
        error = dw_id_map_set(&reading->processes, id, profile->process_count, DW_MAP_NONE);
    if (!error)
        profile->processes[profile->process_count++] = *process;
    return error;
}

static int read_process(struct dw_reading *reading, struct dw_cursor *cursor)
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
    if (is_known(reading->profile, process.uuid))
        return DW_ERR_DUPLICATE;
    int error = read_properties(reading, cursor, &process.properties, &process.property_count,
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

static int read_clock(struct dw_reading *reading, struct dw_cursor *cursor)
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
    return 0;
}

static int read_end(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t index;
    int error = dw_reading_process(reading, cursor, &index);
    if (error)
        return error;
    reading->profile->processes[index].dropped = dw_cursor_get(cursor);
    reading->profile->processes[index].ended = true;
    return 0;
}

static int read_strings(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    while (!cursor->bad && cursor->at < cursor->end) {
        dw_string_id string;
        int error = get_string(reading, cursor, &string);
        if (!error)
            error = dw_id_map_set(&reading->strings, id++, string, reading->lost_string);
        if (error)
            return error;
    }
    return 0;
}

static int read_frames(struct dw_reading *reading, struct dw_cursor *cursor)
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
            error = dw_id_map_set(&reading->frames, id++, mapped, reading->lost_frame);
        if (error)
            return error;
    }
    return 0;
}

static int read_paths(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_path_map *map = path_map(reading);
    struct dw_id_map ids = {map->paths, map->count, map->capacity};
    uint32_t id = dw_cursor_get_u32(cursor);
    int error = 0;
    while (!error && !cursor->bad && cursor->at < cursor->end) {
        dw_path_id parent = dw_id_map_get(&ids, dw_cursor_get_u32(cursor), reading->lost_path);
        dw_frame_id frame =
            dw_id_map_get(&reading->frames, dw_cursor_get_u32(cursor), reading->lost_frame);
        dw_path_id path = DW_PATH_ROOT;
        if (cursor->bad)
            break;
        if (id)
            error = dw_path_intern(&reading->profile->paths, parent, frame, &path);
        if (!error)
            error = dw_id_map_set(&ids, id++, path, reading->lost_path);
    }
    *map = (struct dw_path_map){ids.ids, ids.count, ids.capacity, map->lost};
    return error;
}

static int add_thread(struct dw_reading *reading, uint32_t id, const struct dw_thread *thread)
{
    struct dw_profile *profile = reading->profile;
    int error = DW_GROW(profile->threads, profile->thread_count, profile->thread_capacity);
    if (!error)
        error = dw_id_map_set(&reading->threads, id, profile->thread_count, DW_MAP_NONE);
    if (!error)
        profile->threads[profile->thread_count++] = *thread;
    return error;
}

static int read_thread(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t id = dw_cursor_get_u32(cursor);
    struct dw_thread thread = {0};
    int error = dw_reading_process(reading, cursor, &thread.process);
    if (error)
        return error;
    thread.tid = dw_cursor_get(cursor);
    error = get_string(reading, cursor, &thread.name);
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

static int read_histogram(struct dw_cursor *cursor, struct dw_histogram *histogram)
{
    uint64_t count = dw_cursor_get(cursor), bucket = 0;
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        bucket += dw_cursor_get_u32(cursor);
        uint64_t hits = dw_cursor_get(cursor);
        if (cursor->bad || bucket >= DW_HISTOGRAM_BUCKETS)
            return DW_ERR_DAMAGED;
        int error = dw_histogram_set(histogram, (uint32_t)bucket, hits);
        if (error)
            return error;
    }
    return 0;
}

/* The values are absolute, so the latest chunk wins and a lost one costs nothing for long. */
static int read_values(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t thread;
    int error = dw_reading_thread(reading, cursor, &thread);
    if (error)
        return error;
    while (!cursor->bad && cursor->at < cursor->end) {
        dw_path_id path = get_path(reading, cursor);
        struct dw_metric *metric = dw_profile_metric(reading->profile, thread, path);
        if (!metric)
            return DW_ERR_MEMORY;
        uint64_t *numbers[] = {&metric->count,    &metric->total, &metric->suspended,
                               &metric->children, &metric->cpu,   &metric->min,
                               &metric->max,      &metric->open,  &metric->open_total};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            *numbers[i] = dw_cursor_get(cursor);
        uint64_t low = dw_cursor_get(cursor);
        metric->sum_squares = (unsigned __int128)dw_cursor_get(cursor) << 64 | low;
        error = read_histogram(cursor, &metric->histogram);
        if (error)
            return error;
    }
    return 0;
}

/* A metric that a later version may add is skipped. */
static void read_line_values(struct dw_cursor *cursor, uint64_t values[DW_LINE_METRICS])
{
    uint64_t mask = dw_cursor_get(cursor);
    memset(values, 0, DW_LINE_METRICS * sizeof *values);
    for (size_t i = 0; mask && !cursor->bad; i++, mask >>= 1) {
        uint64_t value = mask & 1 ? dw_cursor_get(cursor) : 0;
        if (i < DW_LINE_METRICS)
            values[i] = value;
    }
}

static int read_lines(struct dw_reading *reading, struct dw_cursor *cursor)
{
    uint32_t process;
    int error = dw_reading_process(reading, cursor, &process);
    if (error)
        return error;
    while (!cursor->bad && cursor->at < cursor->end) {
        dw_frame_id function =
            dw_id_map_get(&reading->frames, dw_cursor_get_u32(cursor), reading->lost_frame);
        uint32_t number = dw_cursor_get_u32(cursor), callee = dw_cursor_get_u32(cursor);
        uint64_t values[DW_LINE_METRICS];
        read_line_values(cursor, values);
        if (cursor->bad)
            break;
        if (reading->lines.count >= LINES_MAX)
            return DW_ERR_TOO_LARGE;
        if (callee && !(callee = dw_id_map_get(&reading->frames, callee, 0)))
            callee = reading->lost_frame;
        struct dw_line *line = dw_line_get(&reading->lines, function, number, callee);
        if (!line)
            return DW_ERR_MEMORY;
        memcpy(line->values, values, sizeof values);
    }
    return 0;
}

static int read_source(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_profile *profile = reading->profile;
    struct dw_source source;
    int error = get_string(reading, cursor, &source.file);
    if (!error)
        error = get_string(reading, cursor, &source.text);
    if (!error)
        error = DW_GROW(profile->sources, profile->source_count, profile->source_capacity);
    if (!error)
        profile->sources[profile->source_count++] = source;
    return error;
}

static int read_runs(struct dw_cursor *cursor, struct dw_timing *timing)
{
    uint64_t count = dw_cursor_get(cursor);
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        int error = DW_GROW(timing->runs_ns, timing->run_count, timing->run_capacity);
        if (error)
            return error;
        timing->runs_ns[timing->run_count++] = dw_cursor_get(cursor);
    }
    return cursor->bad ? DW_ERR_DAMAGED : 0;
}

static int read_timing_into(struct dw_reading *reading, struct dw_cursor *cursor,
                            struct dw_timing *timing)
{
    struct dw_profile *profile = reading->profile;
    int error = dw_reading_process(reading, cursor, &timing->process);
    if (!error)
        error = get_string(reading, cursor, &timing->name);
    if (!error)
        error = read_properties(reading, cursor, &timing->properties, &timing->property_count,
                                &timing->property_capacity);
    timing->loops = dw_cursor_get(cursor);
    if (!error)
        error = read_runs(cursor, timing);
    if (!error && (!timing->loops || !timing->run_count))
        error = DW_ERR_DAMAGED;
    if (!error)
        error = DW_GROW(profile->timings, profile->timing_count, profile->timing_capacity);
    if (!error)
        profile->timings[profile->timing_count++] = *timing;
    return error;
}

static int read_timing(struct dw_reading *reading, struct dw_cursor *cursor)
{
    struct dw_timing timing = {0};
    int error = read_timing_into(reading, cursor, &timing);
    if (error)
        dw_timing_release(&timing);
    return error;
}

/* A block may come twice: first as far as it was filled, then whole. The last one counts. */
static struct dw_event_block *block_slot(struct dw_profile *profile, uint32_t thread_index,
                                         uint32_t sequence)
{
    struct dw_thread *thread = &profile->threads[thread_index];
    if (thread->block_count && profile->blocks[thread->last_block].sequence == sequence) {
        free(profile->blocks[thread->last_block].payload);
        return &profile->blocks[thread->last_block];
    }
    if (DW_GROW(profile->blocks, profile->block_count, profile->block_capacity))
        return NULL;
    thread->block_count++;
    thread->last_block = profile->block_count;
    return &profile->blocks[profile->block_count++];
}

static int keep_events(struct dw_reading *reading, const struct dw_chunk *chunk)
{
    struct dw_cursor cursor = {chunk->stored, chunk->stored + chunk->stored_size, false};
    struct dw_event_block block = {.raw_size = chunk->raw_size};
    int error = dw_reading_thread(reading, &cursor, &block.thread);
    if (error)
        return error;
    block.sequence = dw_cursor_get_u32(&cursor);
    block.base_tick = dw_cursor_get(&cursor);
    block.top = get_path(reading, &cursor);
    if (cursor.bad)
        return DW_ERR_DAMAGED;
    block.size = (size_t)(cursor.end - cursor.at);
    block.payload = malloc(block.size ? block.size : 1);
    if (!block.payload)
        return DW_ERR_MEMORY;
    memcpy(block.payload, cursor.at, block.size);
    struct dw_event_block *slot = block_slot(reading->profile, block.thread, block.sequence);
    if (!slot) {
        free(block.payload);
        return DW_ERR_MEMORY;
    }
    *slot = block;
    return 0;
}

static dw_read_chunk *const readers[] = {
    [DW_CHUNK_PROCESS] = read_process,
    [DW_CHUNK_CLOCK] = read_clock,
    [DW_CHUNK_STRINGS] = read_strings,
    [DW_CHUNK_FRAMES] = read_frames,
    [DW_CHUNK_PATHS] = read_paths,
    [DW_CHUNK_THREAD] = read_thread,
    [DW_CHUNK_VALUES] = read_values,
    [DW_CHUNK_SOURCE] = read_source,
    [DW_CHUNK_END] = read_end,
    [DW_CHUNK_LINES] = read_lines,
    [DW_CHUNK_TIMINGS] = read_timing,
    [DW_CHUNK_MODULES] = dw_read_modules,
    [DW_CHUNK_PLACES] = dw_read_places,
    [DW_CHUNK_STACKS] = dw_read_stacks,
    [DW_CHUNK_SAMPLES] = dw_read_samples,
    [DW_CHUNK_SAMPLING] = dw_read_sampling,
    [DW_CHUNK_TIMED_SAMPLES] = dw_read_timed_samples,
};

/* Values and clocks replace what is known; a long recording has any number of them. */
static bool is_definition(uint32_t type)
{
    return type != DW_CHUNK_VALUES && type != DW_CHUNK_CLOCK && type != DW_CHUNK_LINES &&
           type != DW_CHUNK_SAMPLES && type != DW_CHUNK_SAMPLING;
}

/* Chunk types that we do not know are skipped: a later minor version may add some. */
static int read_one(struct dw_reading *reading, const struct dw_chunk *chunk)
{
    if (chunk->type == DW_CHUNK_EVENTS) {
        reading->profile->event_chunks++;
        return reading->flags & DW_READ_EVENTS ? keep_events(reading, chunk) : 0;
    }
    if (chunk->type == DW_CHUNK_TIMED_SAMPLES)
        reading->profile->event_chunks++;
    if (chunk->type == DW_CHUNK_TIMED_SAMPLES && !(reading->flags & DW_READ_EVENTS))
        return 0;
    if (chunk->type >= sizeof readers / sizeof *readers || !readers[chunk->type])
        return 0;
    if (is_definition(chunk->type))
        reading->decoded_bytes += chunk->raw_size;
    if (reading->decoded_bytes > DEFINITIONS_MAX)
        return DW_ERR_TOO_LARGE;
    size_t size =
        ZSTD_decompress(reading->raw, DW_CHUNK_RAW_MAX, chunk->stored, chunk->stored_size);
    if (ZSTD_isError(size))
        return DW_ERR_DAMAGED;
    struct dw_cursor cursor = {reading->raw, reading->raw + size, false};
    int error = readers[chunk->type](reading, &cursor);
    return error ? error : cursor.bad ? DW_ERR_DAMAGED : 0;
}

static int intern_lost(struct dw_reading *reading)
{
    struct dw_profile *profile = reading->profile;
    int error =
        dw_string_intern(&profile->strings, LOST_NAME, strlen(LOST_NAME), &reading->lost_string);
    struct dw_frame lost = {.kind = DW_FRAME_REGION, .name = reading->lost_string};
    if (!error)
        error = dw_frame_intern(&profile->frames, &lost, &reading->lost_frame);
    if (!error)
        error =
            dw_path_intern(&profile->paths, DW_PATH_ROOT, reading->lost_frame, &reading->lost_path);
    struct dw_place place = {.frame = reading->lost_frame};
    if (!error)
        error = dw_place_intern(&profile->places, &place, &reading->lost_place);
    if (!error)
        error = dw_path_intern(&profile->stacks, DW_PATH_ROOT, reading->lost_place,
                               &reading->lost_stack);
    return error;
}

static int start_reading(struct dw_reading *reading)
{
    struct dw_profile *profile = reading->profile;
    reading->first_process = profile->process_count;
    reading->first_thread = profile->thread_count;
    reading->raw = malloc(DW_CHUNK_RAW_MAX);
    if (!reading->raw)
        return DW_ERR_MEMORY;
    int error = DW_GROW(profile->path_maps, profile->path_map_count, profile->path_map_capacity);
    if (error)
        return error;
    reading->paths = profile->path_map_count++;
    error = intern_lost(reading);
    profile->path_maps[reading->paths] = (struct dw_path_map){.lost = reading->lost_path};
    return error;
}

static int add_lines(struct dw_reading *reading)
{
    int error = 0;
    for (uint32_t i = 0; i < reading->lines.count && !error; i++)
        error = dw_line_add(&reading->profile->lines, &reading->lines.lines[i]);
    return error;
}

static void finish_reading(struct dw_reading *reading, const struct dw_chunk_walk *walk)
{
    struct dw_profile *profile = reading->profile;
    profile->losses.damaged_chunks += walk->damaged_runs;
    profile->losses.damaged_bytes += walk->damaged_bytes;
    for (uint32_t i = reading->first_process; i < profile->process_count; i++)
        profile->losses.cut_files += !profile->processes[i].ended;
    dw_reading_settle(reading);
}

static void release_reading(struct dw_reading *reading)
{
    dw_line_table_release(&reading->lines);
    free(reading->strings.ids);
    free(reading->frames.ids);
    free(reading->processes.ids);
    free(reading->threads.ids);
    free(reading->modules.ids);
    free(reading->places.ids);
    free(reading->stacks.ids);
    free(reading->raw);
}

/* Damage inside a chunk whose checksum is right is still only that chunk's. */
static int read_chunks(struct dw_reading *reading, struct dw_chunk_walk *walk)
{
    struct dw_chunk chunk;
    while (dw_chunk_next(walk, &chunk)) {
        int error = read_one(reading, &chunk);
        if (error == DW_ERR_DAMAGED)
            walk->damaged_runs++, walk->damaged_bytes += chunk.stored_size;
        else if (error)
            return error;
    }
    return reading->profile->process_count > reading->first_process ? 0 : DW_ERR_DAMAGED;
}

int dw_log_read(const uint8_t *bytes, size_t size, unsigned flags, struct dw_profile *profile)
{
    if (!size)
        return DW_ERR_EMPTY;
    int error = dw_log_header_check(bytes, size);
    if (error)
        return error;
    struct dw_reading reading = {.profile = profile, .flags = flags};
    size_t start = size < DW_LOG_HEADER_SIZE ? size : DW_LOG_HEADER_SIZE;
    struct dw_chunk_walk walk = {.bytes = bytes, .size = size, .at = start};
    error = start_reading(&reading);
    if (!error)
        error = read_chunks(&reading, &walk);
    finish_reading(&reading, &walk);
    if (!error)
        error = add_lines(&reading);
    release_reading(&reading);
    return error;
}

int dw_log_read_file(const char *path, unsigned flags, struct dw_profile *profile)
{
    struct dw_file file;
    int error = dw_file_open(path, &file);
    if (error)
        return error;
    error = dw_log_read(file.data, file.size, flags, profile);
    dw_file_close(&file);
    return error;
}
