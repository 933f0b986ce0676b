/* SPDX-License-Identifier: MIT
 * What mprof of memory_profiler writes: a line for each reading of memory, of the program (MEM) or
 * of one of its children (CHLD), and one for each call of a function that was marked (FUNC).
 * Memory is in MiB, times are seconds since 1970. */
#include "import/foreign.h"

#include "base/grow.h"

#include <math.h>
#include <string.h>
#include <zstd.h>

#define MIB 1048576.0
#define MOST 1e18 /* of bytes and of nanoseconds */

struct call {
    uint64_t start_ns, end_ns;
    dw_string_id name;
};

struct reading {
    struct dw_foreign *foreign;
    struct dw_string program;
    struct dw_map index; /* of the series, by process */
    struct call *calls;
    uint32_t call_count, call_capacity;
};

/* The next word, which *line moves behind. */
static struct dw_string take_word(struct dw_string *line)
{
    while (line->size && line->bytes[0] == ' ')
        line->bytes++, line->size--;
    struct dw_string word = {line->bytes, 0};
    while (line->size && line->bytes[0] != ' ')
        line->bytes++, line->size--, word.size++;
    return word;
}

static bool take_number(struct dw_string *line, double unit, uint64_t *number)
{
    char text[64], *end;
    struct dw_string word = take_word(line);
    if (!word.size || word.size >= sizeof text)
        return false;
    memcpy(text, word.bytes, word.size);
    text[word.size] = '\0';
    double value = strtod(text, &end) * unit;
    if (*end || !(value >= 0 && value <= MOST))
        return false;
    *number = (uint64_t)llround(value);
    return true;
}

/* Seconds in two parts: a double has no room for nanoseconds since 1970. */
static bool take_time(struct dw_string *line, uint64_t *ns)
{
    struct dw_string word = take_word(line), rest;
    uint64_t seconds, part = 0, unit = 1000000000u;
    if (!dw_text_number(&word, 10, &seconds) || seconds > (uint64_t)(MOST / 1e9) * 10)
        return false;
    if (word.size && word.bytes[0] != '.')
        return false;
    rest = (struct dw_string){word.bytes + (word.size > 0), word.size - (word.size > 0)};
    for (; rest.size && unit > 1; rest.bytes++, rest.size--) {
        if (rest.bytes[0] < '0' || rest.bytes[0] > '9')
            return false;
        unit /= 10;
        part += (uint64_t)(rest.bytes[0] - '0') * unit;
    }
    *ns = seconds * 1000000000u + part;
    return true;
}

static bool is_kind(struct dw_string line)
{
    return dw_text_skip(&line, "MEM ") || dw_text_skip(&line, "CMDLINE ") ||
           dw_text_skip(&line, "FUNC ") || dw_text_skip(&line, "CHLD ");
}

/* The first line is of a known kind, and some line is a reading. */
bool dw_mprof_is(struct dw_string text)
{
    struct dw_string line;
    uint64_t bytes, time_ns;
    for (bool is_first = true; dw_text_line(&text, &line); is_first = false) {
        if (is_first && !is_kind(line))
            return false;
        if (dw_text_skip(&line, "MEM "))
            return take_number(&line, MIB, &bytes) && take_time(&line, &time_ns);
    }
    return false;
}

static void note(struct reading *reading, int error)
{
    if (error && !reading->foreign->error)
        reading->foreign->error = error;
}

static bool is_of(const void *series, uint32_t id, const void *process)
{
    return ((const struct dw_series *)series)[id].process == *(const uint32_t *)process;
}

/* The series of a process, made when absent; NULL after an error. */
static struct dw_series *series_of(struct reading *reading, uint64_t pid)
{
    struct dw_profile *profile = reading->foreign->profile;
    uint32_t process = dw_foreign_process(reading->foreign, pid, reading->program);
    if (reading->foreign->error)
        return NULL;
    uint64_t hash = dw_hash_mix(process);
    uint32_t known = dw_map_find(&reading->index, hash, is_of, profile->series, &process);
    if (known != DW_MAP_NONE)
        return &profile->series[known];
    struct dw_series like = {
        .process = process,
        .unit = DW_UNIT_BYTES,
        .name = dw_foreign_string(reading->foreign, (struct dw_string){DW_SERIES_RSS, 3})};
    profile->processes[process].is_sampled = false;
    struct dw_series *series = dw_series_append(profile, &like);
    note(reading,
         series ? dw_map_put(&reading->index, hash, profile->series_count - 1) : DW_ERR_MEMORY);
    return reading->foreign->error ? NULL : series;
}

/* False when the line is not understood. */
static bool read_memory(struct reading *reading, struct dw_string line, uint64_t pid)
{
    uint64_t bytes, time_ns;
    if (!take_number(&line, MIB, &bytes) || !take_time(&line, &time_ns))
        return false;
    struct dw_series *series = series_of(reading, pid);
    int error = series ? dw_series_add(series, time_ns, (int64_t)bytes) : 0;
    if (error == DW_ERR_DAMAGED)
        return false;
    note(reading, error);
    return true;
}

static bool read_call(struct reading *reading, struct dw_string line)
{
    struct call call;
    uint64_t bytes;
    struct dw_string name = take_word(&line);
    if (!name.size || !take_number(&line, MIB, &bytes) || !take_time(&line, &call.start_ns) ||
        !take_number(&line, MIB, &bytes) || !take_time(&line, &call.end_ns) ||
        call.end_ns < call.start_ns)
        return false;
    call.name = dw_foreign_string(reading->foreign, name);
    int error = DW_GROW(reading->calls, reading->call_count, reading->call_capacity);
    note(reading, error);
    if (!error)
        reading->calls[reading->call_count++] = call;
    return true;
}

static bool read_line(struct reading *reading, struct dw_string line)
{
    uint64_t pid;
    if (dw_text_skip(&line, "MEM "))
        return read_memory(reading, line, 0);
    if (dw_text_skip(&line, "CHLD "))
        return dw_text_number(&line, 10, &pid) && pid && read_memory(reading, line, pid);
    if (dw_text_skip(&line, "FUNC "))
        return read_call(reading, line);
    return dw_text_skip(&line, "CMDLINE ") || !line.size;
}

/* The clock of a process counts nanoseconds since 1970, and runs over all of its readings. */
static void set_clocks(const struct dw_foreign *foreign, uint64_t first_ns, uint64_t last_ns)
{
    for (uint32_t i = foreign->first_process; i < foreign->profile->process_count; i++) {
        struct dw_process *process = &foreign->profile->processes[i];
        process->first_clock = (struct dw_clock_pair){first_ns, first_ns, first_ns};
        process->last_clock = (struct dw_clock_pair){last_ns, last_ns, last_ns};
    }
}

static void find_times(const struct reading *reading, uint64_t *first_ns, uint64_t *last_ns)
{
    const struct dw_profile *profile = reading->foreign->profile;
    *first_ns = UINT64_MAX;
    *last_ns = 0;
    for (uint32_t i = 0; i < profile->series_count; i++) {
        const struct dw_series *series = &profile->series[i];
        if (series->process < reading->foreign->first_process || !series->count)
            continue;
        uint64_t last = series->points[series->count - 1].time_ns;
        *first_ns = series->points[0].time_ns < *first_ns ? series->points[0].time_ns : *first_ns;
        *last_ns = last > *last_ns ? last : *last_ns;
    }
    for (uint32_t i = 0; i < reading->call_count; i++) {
        const struct call *call = &reading->calls[i];
        *first_ns = call->start_ns < *first_ns ? call->start_ns : *first_ns;
        *last_ns = call->end_ns > *last_ns ? call->end_ns : *last_ns;
    }
}

/* Outer calls before inner ones. */
static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* Calls as events that nest: of threads that overlap, the later one is cut. */
struct nesting {
    struct reading *reading;
    struct dw_buffer events;
    uint64_t tick;
    struct open {
        uint64_t end_ns;
        dw_path_id path;
    } * open;
    uint32_t depth, capacity;
};

static void put_event(struct nesting *nesting, uint64_t now_ns, enum dw_event_kind kind,
                      dw_path_id path)
{
    uint8_t *at = dw_buffer_reserve(&nesting->events, DW_EVENT_MAX);
    if (!at)
        return;
    uint8_t *end = dw_event_encode(at, now_ns - nesting->tick, kind, path, 0);
    nesting->events.size += (size_t)(end - at);
    nesting->tick = now_ns;
}

static void close_until(struct nesting *nesting, uint64_t now_ns)
{
    while (nesting->depth && nesting->open[nesting->depth - 1].end_ns <= now_ns)
        put_event(nesting, nesting->open[--nesting->depth].end_ns, DW_EVENT_EXIT, DW_PATH_ROOT);
}

static void open_call(struct nesting *nesting, const struct call *call)
{
    struct reading *reading = nesting->reading;
    struct dw_frame frame = {.kind = DW_FRAME_REGION, .name = call->name};
    struct open under = {UINT64_MAX, DW_PATH_ROOT};
    if (nesting->depth)
        under = nesting->open[nesting->depth - 1];
    note(reading, DW_GROW(nesting->open, nesting->depth, nesting->capacity));
    struct open now = {
        call->end_ns < under.end_ns ? call->end_ns : under.end_ns,
        dw_foreign_stack(reading->foreign, under.path, &frame, (struct dw_place){0})};
    if (reading->foreign->error)
        return;
    nesting->open[nesting->depth++] = now;
    put_event(nesting, call->start_ns, DW_EVENT_ENTER, now.path);
}

/* Paths are the profile's own here. */
static int map_paths(struct dw_profile *profile, struct dw_process *process)
{
    struct dw_path_map map = {.paths = malloc((profile->paths.count + 1u) * sizeof *map.paths)};
    int error = DW_GROW(profile->path_maps, profile->path_map_count, profile->path_map_capacity);
    if (error || !map.paths) {
        free(map.paths);
        return DW_ERR_MEMORY;
    }
    map.capacity = profile->paths.count + 1;
    for (; map.count < profile->paths.count; map.count++)
        map.paths[map.count] = map.count;
    process->path_map = profile->path_map_count;
    profile->path_maps[profile->path_map_count++] = map;
    return 0;
}

static int add_block(struct nesting *nesting, uint32_t thread, uint64_t base_tick)
{
    struct dw_profile *profile = nesting->reading->foreign->profile;
    struct dw_event_block block = {
        .thread = thread, .base_tick = base_tick, .raw_size = nesting->events.size};
    size_t bound = ZSTD_compressBound(block.raw_size);
    int error = DW_GROW(profile->blocks, profile->block_count, profile->block_capacity);
    block.payload = error || nesting->events.failed ? NULL : malloc(bound);
    if (!block.payload)
        return DW_ERR_MEMORY;
    block.size = ZSTD_compress(block.payload, bound, nesting->events.data, block.raw_size, 1);
    if (ZSTD_isError(block.size)) {
        free(block.payload);
        return DW_ERR_MEMORY;
    }
    profile->threads[thread].block_count++;
    profile->threads[thread].last_block = profile->block_count;
    profile->blocks[profile->block_count++] = block;
    profile->event_chunks++;
    return 0;
}

static void add_calls(struct reading *reading)
{
    struct dw_foreign *foreign = reading->foreign;
    struct nesting nesting = {.reading = reading};
    if (!reading->call_count || foreign->error)
        return;
    qsort(reading->calls, reading->call_count, sizeof *reading->calls, compare_calls);
    nesting.tick = reading->calls[0].start_ns;
    for (uint32_t i = 0; i < reading->call_count && !foreign->error; i++) {
        close_until(&nesting, reading->calls[i].start_ns);
        open_call(&nesting, &reading->calls[i]);
    }
    close_until(&nesting, UINT64_MAX);
    uint32_t process = dw_foreign_process(foreign, 0, reading->program);
    uint32_t thread =
        foreign->error ? 0 : dw_foreign_thread(foreign, process, 0, (struct dw_string){"main", 4});
    if (!foreign->error)
        note(reading, map_paths(foreign->profile, &foreign->profile->processes[process]));
    if (!foreign->error)
        note(reading, add_block(&nesting, thread, reading->calls[0].start_ns));
    dw_buffer_release(&nesting.events);
    free(nesting.open);
}

/* The command line may be anywhere among the lines. */
static struct dw_string find_program(struct dw_string text)
{
    struct dw_string line;
    while (dw_text_line(&text, &line))
        if (dw_text_skip(&line, "CMDLINE "))
            return line;
    return (struct dw_string){"", 0};
}

void dw_mprof_read(struct dw_foreign *foreign, struct dw_string text)
{
    struct reading reading = {.foreign = foreign, .program = find_program(text)};
    struct dw_string line;
    uint64_t first_ns, last_ns;
    while (!foreign->error && dw_text_line(&text, &line))
        if (!read_line(&reading, line))
            dw_foreign_lose(foreign, line.size);
    find_times(&reading, &first_ns, &last_ns);
    set_clocks(foreign, first_ns, last_ns);
    add_calls(&reading);
    dw_map_release(&reading.index);
    free(reading.calls);
}
