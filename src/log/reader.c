/* SPDX-License-Identifier: MIT
 * Reads a log chunk by chunk; what chunks hold is read by the files that reading.h names. */
#include "log/reader.h"

#include "base/file.h"
#include "base/grow.h"
#include "log/copied_rows.h"
#include "log/reading.h"

#include <string.h>
#include <zstd.h>

/* What is unpacked, beside how much it is packed: clocks and stacks of programs pack to a tenth,
 * never to a hundredth. */
#define UNPACKED_MAX(size) ((UINT64_C(16) << 20) + 256 * (uint64_t)(size))
#define GAP_IDS_MAX (DW_CHUNK_RAW_MAX / 2) /* as many as one lost chunk can have defined */
#define LINES_MAX (1u << 22)
#define ROWS_MAX (1u << 23) /* of a small file; others may have one for each byte, too */
#define TIMED_MAX (1u << 26)
#define POINTS_MAX (1u << 26)
#define CHANGES_MAX (1u << 26)
#define LOST_NAME "<lost>"

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
    block.top = dw_reading_path(reading, &cursor);
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

/* What is not in the table is skipped: a later minor version may add types of chunks. */
static dw_read_chunk *const readers[] = {
    [DW_CHUNK_PROCESS] = dw_read_process,
    [DW_CHUNK_CLOCK] = dw_read_clock,
    [DW_CHUNK_STRINGS] = dw_read_strings,
    [DW_CHUNK_FRAMES] = dw_read_frames,
    [DW_CHUNK_PATHS] = dw_read_paths,
    [DW_CHUNK_THREAD] = dw_read_thread,
    [DW_CHUNK_VALUES] = dw_read_values,
    [DW_CHUNK_SOURCE] = dw_read_source,
    [DW_CHUNK_END] = dw_read_end,
    [DW_CHUNK_LINES] = dw_read_lines,
    [DW_CHUNK_TIMINGS] = dw_read_timing,
    [DW_CHUNK_MODULES] = dw_read_modules,
    [DW_CHUNK_PLACES] = dw_read_places,
    [DW_CHUNK_STACKS] = dw_read_stacks,
    [DW_CHUNK_SAMPLES] = dw_read_samples,
    [DW_CHUNK_SAMPLING] = dw_read_sampling,
    [DW_CHUNK_TIMED_SAMPLES] = dw_read_timed_samples,
    [DW_CHUNK_MEASURES] = dw_read_measures,
    [DW_CHUNK_LABELS] = dw_read_labels,
    [DW_CHUNK_TREE] = dw_read_tree,
    [DW_CHUNK_ROWS] = dw_read_rows,
    [DW_CHUNK_TIMED_ROWS] = dw_read_timed_rows,
    [DW_CHUNK_SERIES] = dw_read_series,
    [DW_CHUNK_PROPERTIES] = dw_read_properties,
    [DW_CHUNK_HEAP] = dw_read_heap,
};

static bool is_wanted(const struct dw_reading *reading, uint16_t type)
{
    if (reading->flags & DW_READ_PROCESSES)
        return type == DW_CHUNK_PROCESS || type == DW_CHUNK_PROPERTIES || type == DW_CHUNK_CLOCK ||
               type == DW_CHUNK_END;
    if ((type == DW_CHUNK_SOURCE && reading->flags & DW_READ_NO_SOURCES) ||
        (type == DW_CHUNK_ROWS && reading->flags & DW_READ_NO_VALUES))
        return false;
    bool is_timeline =
        type == DW_CHUNK_EVENTS || type == DW_CHUNK_TIMED_SAMPLES || type == DW_CHUNK_TIMED_ROWS;
    reading->profile->event_chunks += is_timeline;
    return is_timeline ? reading->flags & DW_READ_EVENTS
                       : type < sizeof readers / sizeof *readers && readers[type];
}

static int read_one(struct dw_reading *reading, const struct dw_chunk *chunk)
{
    if (!is_wanted(reading, chunk->type))
        return 0;
    if (chunk->raw_size > reading->limits->unpacked_bytes)
        return DW_ERR_TOO_LARGE;
    reading->limits->unpacked_bytes -= chunk->raw_size;
    if (chunk->type == DW_CHUNK_EVENTS)
        return keep_events(reading, chunk);
    size_t size = ZSTD_decompressDCtx(reading->decompressor, reading->raw, chunk->raw_size,
                                      chunk->stored, chunk->stored_size);
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
    struct dw_place place = {.frame = reading->lost_frame};
    if (!error)
        error = dw_place_intern(&profile->places, &place, &reading->lost_place);
    if (!error)
        error =
            dw_path_intern(&profile->paths, DW_PATH_ROOT, reading->lost_place, &reading->lost_path);
    return error;
}

static void know_no_measures(struct dw_reading *reading)
{
    for (uint32_t i = 0; i < DW_MEASURES_MAX; i++)
        reading->measures[i].measure = DW_MEASURES;
}

static int start_reading(struct dw_reading *reading)
{
    struct dw_profile *profile = reading->profile;
    know_no_measures(reading);
    reading->first_process = profile->process_count;
    reading->first_thread = profile->thread_count;
    reading->first_series = profile->series_count;
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

static void release_reading(struct dw_reading *reading)
{
    dw_line_table_release(&reading->lines);
    dw_buffer_release(&reading->scratch);
    dw_buffer_release(&reading->combined);
    dw_map_release(&reading->uuids);
    dw_map_release(&reading->series);
    free(reading->strings.ids);
    free(reading->frames.ids);
    free(reading->processes.ids);
    free(reading->threads.ids);
    free(reading->modules.ids);
    free(reading->places.ids);
    free(reading->stacks.ids);
    free(reading->labels.ids);
}

/* The intact chunks of a log, and what lies between them. */
struct chunk_list {
    struct dw_chunk *chunks;
    uint32_t count, capacity;
    uint16_t last_stream;
    struct dw_chunk_walk walk;
};

static int list_chunks(struct chunk_list *list)
{
    struct dw_chunk chunk;
    while (dw_chunk_next(&list->walk, &chunk)) {
        if (chunk.stream >= DW_LOG_STREAMS_MAX)
            continue;
        if (DW_GROW(list->chunks, list->count, list->capacity))
            return DW_ERR_MEMORY;
        list->chunks[list->count++] = chunk;
        list->last_stream = chunk.stream > list->last_stream ? chunk.stream : list->last_stream;
    }
    return 0;
}

/* Damage inside a chunk whose checksum is right is still only that chunk's. */
static int read_chunks(struct dw_reading *reading, const struct chunk_list *list, uint16_t stream)
{
    struct dw_losses *losses = &reading->profile->losses;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct dw_chunk *chunk = &list->chunks[i];
        int error = chunk->stream == stream ? read_one(reading, chunk) : 0;
        if (error == DW_ERR_DAMAGED)
            losses->damaged_chunks++, losses->damaged_bytes += chunk->stored_size;
        else if (error)
            return error;
    }
    return 0;
}

/* A stream has ids of its own, so it is read as a log would be, and joined to those before. */
static int read_stream(struct dw_reading *reading, const struct chunk_list *list, uint16_t stream)
{
    uint32_t blocks = reading->profile->block_count;
    int error = start_reading(reading);
    if (!error)
        error = read_chunks(reading, list, stream);
    int heap_error = dw_reading_end_heap(reading);
    error = error ? error : heap_error;
    dw_reading_settle(reading);
    if (!error)
        error = add_lines(reading);
    if (!error && stream)
        error = dw_reading_join(reading);
    if (!error && reading->profile->block_count == blocks) /* from now on only events name paths */
        dw_path_map_clear(dw_reading_paths(reading));
    release_reading(reading);
    return error;
}

static uint32_t rows_of(size_t file_size)
{
    uint64_t rows = ROWS_MAX + (uint64_t)file_size;
    return rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

/* Whether rows are copied; then so are the clocks that their ticks are of. */
static bool can_copy(const struct chunk_list *list, unsigned flags, uint8_t *raw,
                     ZSTD_DCtx *decompressor)
{
    struct dw_reading probe = {.raw = raw, .decompressor = decompressor};
    know_no_measures(&probe);
    return flags & DW_READ_TO_SAVE && dw_log_can_copy(list->chunks, list->count, &probe);
}

static int read_streams(const struct chunk_list *list, unsigned flags, struct dw_profile *profile)
{
    struct dw_read_limits limits = {.unpacked_bytes = UNPACKED_MAX(list->walk.size),
                                    .gap_ids = GAP_IDS_MAX,
                                    .lines = LINES_MAX,
                                    .rows = rows_of(list->walk.size),
                                    .timed_samples = TIMED_MAX,
                                    .points = POINTS_MAX,
                                    .changes = CHANGES_MAX};
    uint32_t process = profile->process_count, thread = profile->thread_count;
    uint8_t *raw = malloc(DW_CHUNK_RAW_MAX);
    ZSTD_DCtx *decompressor = ZSTD_createDCtx();
    int error = raw && decompressor ? dw_profile_index_processes(profile) : DW_ERR_MEMORY;
    bool copies = !error && can_copy(list, flags, raw, decompressor);
    for (uint16_t stream = 0; stream <= list->last_stream && !error; stream++) {
        struct dw_reading reading = {.profile = profile,
                                     .flags = flags,
                                     .copies = copies,
                                     .limits = &limits,
                                     .decompressor = decompressor,
                                     .raw = raw,
                                     .log_process = process,
                                     .log_thread = thread};
        error = read_stream(&reading, list, stream);
    }
    ZSTD_freeDCtx(decompressor);
    free(raw);
    for (uint32_t i = process; i < profile->process_count; i++)
        profile->losses.cut_files += !profile->processes[i].ended;
    return error || profile->process_count > process ? error : DW_ERR_DAMAGED;
}

int dw_log_read(const uint8_t *bytes, size_t size, unsigned flags, struct dw_profile *profile)
{
    if (!size)
        return DW_ERR_EMPTY;
    size_t start;
    int error = dw_log_header_check(bytes, size, &start);
    if (error)
        return error;
    struct chunk_list list = {.walk = {.bytes = bytes, .size = size, .at = start}};
    error = list_chunks(&list);
    profile->losses.damaged_chunks += list.walk.damaged_runs;
    profile->losses.damaged_bytes += list.walk.damaged_bytes;
    if (!error)
        error = read_streams(&list, flags, profile);
    free(list.chunks);
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

uint64_t dw_log_heap_bytes(const uint8_t *bytes, size_t size)
{
    size_t start;
    struct dw_chunk chunk;
    uint64_t sum = 0;
    if (!size || dw_log_header_check(bytes, size, &start))
        return 0;
    struct dw_chunk_walk walk = {.bytes = bytes, .size = size, .at = start};
    while (dw_chunk_next(&walk, &chunk))
        sum += chunk.type == DW_CHUNK_HEAP ? chunk.raw_size : 0;
    return sum;
}
