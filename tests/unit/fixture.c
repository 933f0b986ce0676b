/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "old_chunks.h"

#include "base/grow.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/prepare/prepare.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

static void require(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "fixture: %s\n", what);
    abort();
}

struct dw_profile *fixture_new(void)
{
    struct dw_profile *profile = NULL;
    require(!dw_profile_new(&profile), "new");
    require(!DW_GROW(profile->path_maps, profile->path_map_count, profile->path_map_capacity),
            "path map");
    profile->path_maps[profile->path_map_count++] = (struct dw_path_map){0};
    return profile;
}

static dw_string_id intern(struct dw_profile *profile, const void *bytes, size_t size)
{
    dw_string_id id = 0;
    require(!dw_string_intern(&profile->strings, bytes, size, &id), "string");
    return id;
}

uint32_t fixture_process(struct dw_profile *profile, uint64_t pid, uint64_t start)
{
    require(!DW_GROW(profile->processes, profile->process_count, profile->process_capacity),
            "process");
    struct dw_process process = {.pid = pid, .ended = true};
    process.uuid[0] = (uint8_t)(profile->process_count + 1);
    process.first_clock = (struct dw_clock_pair){start, start, FIXTURE_START_NS + start};
    process.last_clock = process.first_clock;
    process.last_clock.tick += 10000000;
    process.last_clock.monotonic_ns += 10000000;
    process.last_clock.wall_ns += 10000000;
    profile->processes[profile->process_count] = process;
    return profile->process_count++;
}

void fixture_property(struct dw_profile *profile, uint32_t index, const char *key,
                      const char *value)
{
    struct dw_process *process = &profile->processes[index];
    require(!DW_GROW(process->properties, process->property_count, process->property_capacity),
            "property");
    process->properties[process->property_count++] = (struct dw_property){
        intern(profile, key, strlen(key)), intern(profile, value, strlen(value))};
}

uint32_t fixture_thread(struct dw_profile *profile, uint32_t process, uint64_t tid,
                        const char *name)
{
    require(!DW_GROW(profile->threads, profile->thread_count, profile->thread_capacity), "thread");
    profile->threads[profile->thread_count] = (struct dw_thread){
        .process = process, .tid = tid, .name = intern(profile, name, strlen(name))};
    return profile->thread_count++;
}

/* The fixture's events use the profile's own path ids. */
static void map_path(struct dw_profile *profile)
{
    struct dw_path_map *map = &profile->path_maps[0];
    while (map->count < profile->paths.count) {
        require(!DW_GROW(map->paths, map->count, map->capacity), "path map");
        map->paths[map->count] = map->count;
        map->count++;
    }
}

/* Trees that are prepared for showing have no index any more. */
static dw_path_id find_path(const struct dw_profile *profile, dw_path_id parent, dw_place_id step)
{
    const struct dw_path *paths = profile->paths.paths;
    for (dw_path_id path = 1; path < profile->paths.count; path++)
        if (paths[path].parent == parent && paths[path].step == step)
            return path;
    return DW_PATH_ROOT;
}

dw_path_id fixture_step(struct dw_profile *profile, dw_path_id parent, struct dw_place place)
{
    dw_place_id place_id = 0;
    require(!dw_place_intern(&profile->places, &place, &place_id), "place");
    dw_path_id path = profile->function_of ? find_path(profile, parent, place_id) : DW_PATH_ROOT;
    if (path)
        return path;
    require(!dw_path_intern(&profile->paths, parent, place_id, &path), "path");
    map_path(profile);
    return path;
}

dw_path_id fixture_child(struct dw_profile *profile, dw_path_id parent, enum dw_frame_kind kind,
                         const void *name, size_t size)
{
    struct dw_frame frame = {.kind = kind, .name = intern(profile, name, size)};
    struct dw_place place = {0};
    require(!dw_frame_intern(&profile->frames, &frame, &place.frame), "frame");
    return fixture_step(profile, parent, place);
}

dw_frame_id fixture_function(struct dw_profile *profile, const char *file, uint32_t first_line,
                             const char *name)
{
    struct dw_frame frame = {.kind = DW_FRAME_FUNCTION, .line = first_line};
    dw_frame_id id = 0;
    frame.name = intern(profile, name, strlen(name));
    frame.file = intern(profile, file, strlen(file));
    require(!dw_frame_intern(&profile->frames, &frame, &id), "frame");
    return id;
}

struct dw_line *fixture_callee(struct dw_profile *profile, dw_frame_id function, uint32_t number,
                               dw_frame_id callee, uint64_t calls, uint64_t time)
{
    struct dw_line *line = dw_line_get(&profile->lines, function, number, callee);
    require(line != NULL, "line");
    line->values[DW_LINE_HITS] = calls;
    line->values[DW_LINE_TIME] = line->values[DW_LINE_SELF] = line->values[DW_LINE_INCLUSIVE] =
        time;
    return line;
}

struct dw_line *fixture_line(struct dw_profile *profile, dw_frame_id function, uint32_t number,
                             uint64_t hits, uint64_t time)
{
    return fixture_callee(profile, function, number, 0, hits, time);
}

void fixture_source(struct dw_profile *profile, const char *file, const char *text)
{
    require(!DW_GROW(profile->sources, profile->source_count, profile->source_capacity), "source");
    profile->sources[profile->source_count++] = (struct dw_source){
        intern(profile, file, strlen(file)), intern(profile, text, strlen(text))};
}

dw_path_id fixture_path(struct dw_profile *profile, const char *text)
{
    dw_path_id path = DW_PATH_ROOT;
    while (*text) {
        size_t size = strcspn(text, "/");
        path = fixture_child(profile, path, DW_FRAME_REGION, text, size);
        text += size + (text[size] == '/');
    }
    return path;
}

static void add_numbers(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                        dw_labels_id labels, dw_measure_mask mask, const uint64_t *numbers)
{
    struct dw_value_table *values = &profile->threads[thread].values;
    uint32_t row = 0;
    require(!dw_value_row_get(values, path, labels, &row), "row");
    require(!dw_value_row_add(values, row, mask, numbers), "numbers");
}

void fixture_add(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                 enum dw_measure measure, uint64_t number)
{
    add_numbers(profile, thread, path, DW_LABELS_NONE, DW_MASK(measure), &number);
}

const struct dw_value_row *fixture_row(const struct dw_profile *profile, uint32_t thread,
                                       dw_path_id path)
{
    const struct dw_value_table *values = &profile->threads[thread].values;
    for (uint32_t i = 0; i < values->count; i++)
        if (values->rows[i].path == path && values->rows[i].labels == DW_LABELS_NONE)
            return &values->rows[i];
    require(false, "no such row");
    return NULL;
}

uint64_t fixture_value(const struct dw_profile *profile, uint32_t thread, dw_path_id path,
                       enum dw_measure measure)
{
    return dw_value_get(&profile->threads[thread].values, fixture_row(profile, thread, path),
                        measure);
}

struct dw_metric fixture_metric(const struct dw_profile *profile, uint32_t thread, dw_path_id path)
{
    const struct dw_value_table *values = &profile->threads[thread].values;
    const struct dw_value_row *row = fixture_row(profile, thread, path);
    struct dw_metric metric = {0};
    uint64_t *const numbers[] = {
        [DW_COUNT] = &metric.count,
        [DW_TOTAL] = &metric.total,
        [DW_SUSPENDED] = &metric.suspended,
        [DW_CHILDREN] = &metric.children,
        [DW_ENTRY_CPU] = &metric.cpu,
        [DW_MIN] = &metric.min,
        [DW_MAX] = &metric.max,
        [DW_OPEN] = &metric.open,
        [DW_OPEN_TOTAL] = &metric.open_total,
    };
    for (enum dw_measure i = DW_COUNT; i <= DW_OPEN_TOTAL; i++)
        *numbers[i] = dw_value_get(values, row, i);
    metric.spread = row->spread ? &values->spreads[row->spread - 1] : NULL;
    return metric;
}

void fixture_root(struct dw_profile *profile, uint32_t thread, uint64_t total)
{
    fixture_open(profile, thread, DW_PATH_ROOT, total);
}

static bool is_call(const struct dw_profile *profile, dw_path_id path)
{
    uint32_t kind = dw_profile_path_frame(profile, path)->kind;
    return kind == DW_FRAME_FUNCTION || kind == DW_FRAME_BUILTIN;
}

/* What was called directly is under the next call above it, whatever regions are between them;
 * with regions it is the same. */
static void add_to_parent(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                          uint64_t duration)
{
    bool of_calls = is_call(profile, path);
    do
        path = profile->paths.paths[path].parent;
    while (path != DW_PATH_ROOT && is_call(profile, path) != of_calls);
    fixture_add(profile, thread, path, of_calls ? DW_CALL_CHILDREN : DW_CHILDREN, duration);
}

static void add_call(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                     uint64_t duration)
{
    const uint64_t numbers[] = {1, duration};
    add_numbers(profile, thread, path, DW_LABELS_NONE, DW_MASK(DW_CALLS) | DW_MASK(DW_CALL_TOTAL),
                numbers);
    add_to_parent(profile, thread, path, duration);
}

static void add_spread(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                       uint64_t duration)
{
    struct dw_value_table *values = &profile->threads[thread].values;
    uint32_t row = 0;
    require(!dw_value_row_get(values, path, DW_LABELS_NONE, &row), "row");
    struct dw_spread *spread = dw_value_row_spread(values, row);
    require(spread != NULL, "spread");
    spread->sum_squares += (unsigned __int128)duration * duration;
    require(!dw_histogram_add(&spread->histogram, dw_histogram_bucket(duration), 1), "bucket");
}

void fixture_entry(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint64_t duration)
{
    if (is_call(profile, path)) {
        add_call(profile, thread, path, duration);
        return;
    }
    const uint64_t numbers[] = {1, duration, 0, 0, 0, duration, duration, 0, 0};
    add_numbers(profile, thread, path, DW_LABELS_NONE, DW_ENTRY_MASK, numbers);
    add_spread(profile, thread, path, duration);
    add_to_parent(profile, thread, path, duration);
}

void fixture_open(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint64_t duration)
{
    if (is_call(profile, path)) {
        add_call(profile, thread, path, duration);
        return;
    }
    const uint64_t numbers[] = {0, duration, 0, 0, 0, 0, 0, 1, duration};
    add_numbers(profile, thread, path, DW_LABELS_NONE, DW_ENTRY_MASK, numbers);
}

void fixture_events(struct dw_profile *profile, uint32_t thread, uint32_t sequence, dw_path_id top,
                    const struct dw_event *events, size_t count)
{
    const struct dw_process *process = &profile->processes[profile->threads[thread].process];
    uint64_t offset = process->first_clock.wall_ns - process->first_clock.tick - FIXTURE_START_NS;
    uint8_t *raw = malloc(count * DW_EVENT_MAX + 1), *end = raw;
    uint64_t base = count ? events[0].time_ns - offset : 0, tick = base;
    require(raw != NULL, "events");
    for (size_t i = 0; i < count; i++) {
        uint64_t now = events[i].time_ns - offset;
        end = dw_event_encode(end, now - tick, events[i].kind, events[i].path, events[i].value);
        tick = now;
    }
    struct dw_event_block block = {
        .thread = thread, .sequence = sequence, .base_tick = base, .top = top};
    block.raw_size = (size_t)(end - raw);
    size_t bound = ZSTD_compressBound(block.raw_size);
    block.payload = malloc(bound);
    require(block.payload != NULL, "payload");
    block.size = ZSTD_compress(block.payload, bound, raw, block.raw_size, 1);
    require(!ZSTD_isError(block.size), "compress");
    free(raw);
    require(!DW_GROW(profile->blocks, profile->block_count, profile->block_capacity), "block");
    profile->threads[thread].block_count++;
    profile->threads[thread].last_block = profile->block_count;
    profile->blocks[profile->block_count++] = block;
}

void fixture_add_lines(struct dw_profile *profile)
{
    dw_frame_id work = fixture_function(profile, "work.py", 2, "work");
    dw_frame_id step = fixture_function(profile, "work.py", 9, "step");
    fixture_source(
        profile, "work.py",
        "import time\ndef work(n):\n    if n:\n        step()\n    # done\n    return work\n");
    fixture_line(profile, work, 0, 2, 0);
    fixture_line(profile, work, 3, 2, 1000000);
    fixture_line(profile, work, 4, 1, 2000000)->values[DW_LINE_SELF] = 500000;
    fixture_line(profile, work, 6, 0, 0);
    fixture_callee(profile, work, 4, step, 1, 1500000);
}

void fixture_timing(struct dw_profile *profile, const char *name, uint32_t runs, uint64_t around_ns)
{
    struct dw_timing timing = {.name = intern(profile, name, strlen(name)), .loops = 1000};
    require(!DW_GROW(timing.properties, timing.property_count, timing.property_capacity),
            "property");
    timing.properties[timing.property_count++] =
        (struct dw_property){intern(profile, "session", 7), intern(profile, "5e55", 4)};
    for (uint64_t i = 0; i < runs; i++) {
        require(!DW_GROW(timing.runs_ns, timing.run_count, timing.run_capacity), "run");
        timing.runs_ns[timing.run_count++] = around_ns + i * 7 % runs * 1000;
    }
    require(!DW_GROW(profile->timings, profile->timing_count, profile->timing_capacity), "timing");
    profile->timings[profile->timing_count++] = timing;
}

struct dw_profile *fixture_small(void)
{
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 41, 0);
    uint32_t first = fixture_thread(profile, process, 41, "MainThread");
    uint32_t second = fixture_thread(profile, process, 42, "worker");
    dw_path_id load = fixture_path(profile, "load"), parse = fixture_path(profile, "load/parse");
    dw_path_id bytes = fixture_child(profile, load, DW_FRAME_COUNTER, "bytes", 5);
    fixture_property(profile, process, "argv", "/home/me/train.py --epochs 3");
    fixture_property(profile, process, "host", "node7");
    fixture_root(profile, first, 10000000);
    fixture_entry(profile, first, load, 2000000);
    fixture_entry(profile, first, load, 4000000);
    for (int i = 0; i < 3; i++)
        fixture_entry(profile, first, parse, 1000000);
    fixture_root(profile, second, 5000000);
    fixture_entry(profile, second, load, 1000000);
    fixture_add(profile, first, bytes, DW_COUNT, 2);
    fixture_add(profile, first, bytes, DW_TOTAL, 300);
    const struct dw_event events[] = {
        {1000000, DW_EVENT_ENTER, load, 0},    {1500000, DW_EVENT_ENTER, parse, 0},
        {2500123, DW_EVENT_EXIT, 0, 0},        {2600000, DW_EVENT_COUNTER, bytes, -7},
        {2700000, DW_EVENT_INSTANT, bytes, 0}, {3000000, DW_EVENT_SUSPEND, 0, 0},
        {4000000, DW_EVENT_RESUME, load, 0},   {5000000, DW_EVENT_EXIT, 0, 0},
    };
    fixture_events(profile, first, 0, DW_PATH_ROOT, events, sizeof events / sizeof *events);
    return profile;
}

static uint32_t module_of(struct dw_profile *profile, const char *path, uint64_t start)
{
    require(!DW_GROW(profile->modules, profile->module_count, profile->module_capacity), "module");
    profile->modules[profile->module_count] = (struct dw_module){
        .path = intern(profile, path, strlen(path)),
        .start = start,
        .end = start + 0x10000,
        .file_offset = 0x1000,
        .bias = start - 0x1000,
        .build_id = {0xab, 0xcd, 0x01},
        .build_id_size = 3,
    };
    return ++profile->module_count;
}

static dw_frame_id native_frame(struct dw_profile *profile, const char *file, uint32_t line,
                                const char *name, uint32_t kind)
{
    struct dw_frame frame = {.kind = kind, .line = line};
    dw_frame_id id = 0;
    frame.name = intern(profile, name, strlen(name));
    frame.file = intern(profile, file, strlen(file));
    require(!dw_frame_intern(&profile->frames, &frame, &id), "frame");
    return id;
}

static dw_place_id place_of(struct dw_profile *profile, struct dw_place place)
{
    dw_place_id id = 0;
    require(!dw_place_intern(&profile->places, &place, &id), "place");
    return id;
}

dw_labels_id fixture_state(struct dw_profile *profile, uint32_t state)
{
    dw_labels_id labels = 0;
    require(!dw_labels_intern(&profile->labels, state + 1, NULL, 0, &labels), "labels");
    return labels;
}

void fixture_sample(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint32_t state,
                    uint64_t count, uint64_t weight_ns)
{
    static const dw_measure_mask weights[DW_SAMPLE_MODES] = {
        [DW_SAMPLE_CPU] = DW_MASK(DW_CPU), [DW_SAMPLE_WALL] = DW_MASK(DW_WALL)};
    const struct dw_process *process = &profile->processes[profile->threads[thread].process];
    const uint64_t numbers[] = {count, weight_ns};
    add_numbers(profile, thread, path, fixture_state(profile, state),
                DW_MASK(DW_SAMPLES) | weights[process->sampling.mode], numbers);
}

/* Each sample stands for 1 ms, and comes after those before it. */
static void take_samples(struct dw_profile *profile, uint32_t index, dw_path_id path,
                         uint32_t state, uint32_t count)
{
    struct dw_thread *thread = &profile->threads[index];
    fixture_sample(profile, index, path, state, count, count * UINT64_C(1000000));
    for (uint32_t i = 0; i < count; i++) {
        require(!DW_GROW(thread->timed, thread->timed_count, thread->timed_capacity), "timed");
        uint64_t time = FIXTURE_START_NS + (thread->timed_count + 1) * UINT64_C(1000000);
        thread->timed[thread->timed_count++] =
            (struct dw_timed_sample){time, 1000000, path, fixture_state(profile, state)};
    }
}

struct dw_profile *fixture_sampled(enum dw_sample_mode mode)
{
    struct dw_profile *profile = fixture_new();
    uint32_t process = fixture_process(profile, 41, 0);
    fixture_property(profile, process, "argv", "/home/me/app.py");
    profile->processes[process].is_sampled = true;
    profile->processes[process].sampling = (struct dw_sampling){.mode = mode,
                                                                .native = true,
                                                                .period_ns = 1000000,
                                                                .taken = 10,
                                                                .missed = 3,
                                                                .guessed = 2,
                                                                .cut = 1};
    uint32_t first = fixture_thread(profile, process, 41, "MainThread");
    uint32_t second = fixture_thread(profile, process, 42, "worker");
    uint32_t library = module_of(profile, "/lib/libwork.so", 0x7f0000000000);
    uint32_t program = module_of(profile, "/usr/bin/python3", 0x400000);
    dw_frame_id main = fixture_function(profile, "/home/me/app.py", 1, "main");
    dw_frame_id work = fixture_function(profile, "/home/me/app.py", 5, "work");
    dw_frame_id loop = native_frame(profile, "/src/scatter.c", 10, "loop", DW_FRAME_NATIVE);
    dw_frame_id scatter = native_frame(profile, "/src/scatter.c", 28, "scatter", DW_FRAME_NATIVE);
    dw_frame_id copy = native_frame(profile, "/usr/bin/python3", 0, "memcpy", DW_FRAME_NATIVE);
    dw_frame_id gc = native_frame(profile, "", 0, "<gc>", DW_FRAME_MARK);
    struct dw_place work_6 = {.frame = work, .line = 6};
    struct dw_place work_7 = {.frame = work, .line = 7, .column = 9};
    struct dw_place scatter_30 = {
        .frame = scatter, .line = 30, .module = library, .address = 0x1234};
    scatter_30.outer = place_of(
        profile,
        (struct dw_place){.frame = loop, .line = 12, .module = library, .address = 0x1234});
    struct dw_place copy_at = {.frame = copy, .module = program, .address = 0x2000};
    dw_path_id main_3 = fixture_step(profile, 0, (struct dw_place){.frame = main, .line = 3});
    dw_path_id main_4 = fixture_step(profile, 0, (struct dw_place){.frame = main, .line = 4});
    dw_path_id native = fixture_step(profile, fixture_step(profile, main_3, work_6), scatter_30);
    dw_path_id python = fixture_step(profile, main_3, work_7);
    dw_path_id again = fixture_step(profile, fixture_step(profile, main_4, work_6), work_7);
    dw_path_id recursive = fixture_step(profile, again, copy_at);
    dw_path_id collecting = fixture_step(profile, main_4, (struct dw_place){.frame = gc});
    take_samples(profile, first, native, DW_SAMPLE_NATIVE, 4);
    take_samples(profile, first, python, DW_SAMPLE_PYTHON | DW_SAMPLE_HOLDS_GIL, 2);
    take_samples(profile, first, main_4, DW_SAMPLE_WAITING, 1);
    take_samples(profile, first, recursive, DW_SAMPLE_NATIVE, 1);
    take_samples(profile, first, collecting, DW_SAMPLE_PYTHON | DW_SAMPLE_HOLDS_GIL, 1);
    take_samples(profile, second, python, DW_SAMPLE_GIL, 1);
    return profile;
}

static void add_labelled(struct dw_profile *profile, uint32_t state, const struct dw_label *pairs,
                         uint32_t count)
{
    static const uint64_t numbers[] = {3, 4, 5};
    dw_labels_id labels = 0;
    require(!dw_labels_intern(&profile->labels, state, pairs, count, &labels), "labels");
    add_numbers(profile, 0, 1, labels, DW_MASK(DW_SAMPLES) | DW_MASK(DW_CPU) | DW_MASK(DW_WALL),
                numbers);
}

struct dw_profile *fixture_mixed(void)
{
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_WALL);
    const struct dw_label pairs[] = {{intern(profile, "task", 4), intern(profile, "fetch", 5)},
                                     {intern(profile, "rank", 4), intern(profile, "7", 1)}};
    add_labelled(profile, 0, pairs, 1);
    add_labelled(profile, DW_SAMPLE_NATIVE + 1, pairs, 2);
    fixture_root(profile, 0, 10000000);
    fixture_entry(profile, 0, fixture_path(profile, "load"), 1234567);
    fixture_entry(profile, 0, fixture_path(profile, "load"), 99);
    fixture_open(profile, 1, fixture_path(profile, "load/parse"), 7654321);
    fixture_entry(profile, 1, fixture_child(profile, 1, DW_FRAME_FUNCTION, "f", 1), 4444);
    return profile;
}

uint32_t fixture_random_below(uint32_t bound)
{
    static uint64_t random_state = 0x9e3779b97f4a7c15u;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % bound;
}

void fixture_prepare(struct dw_profile *profile)
{
    if (!profile->function_of)
        require(!dw_profile_prepare(profile, true), "prepare");
}

char *fixture_show(struct dw_profile *profile, const char *name,
                   const struct dw_lens_options *options, size_t *size)
{
    static const struct dw_lens_options none;
    const struct dw_lens *lens = dw_lens_find(name);
    struct dw_out out;
    require(lens != NULL, "no such lens");
    dw_out_init_memory(&out);
    fixture_prepare(profile);
    require(!lens->write(profile, options ? options : &none, &out), "lens failed");
    dw_out_char(&out, '\0');
    require(!out.error && !out.buffer.failed, "output failed");
    if (size)
        *size = out.buffer.size - 1;
    return (char *)out.buffer.data;
}

/* Paths of frames have the ids of the profile's own: no frame is at two places in it. */
static void write_paths(const struct dw_profile *profile, struct dw_log_writer *writer)
{
    struct dw_path_tree frames;
    require(!dw_path_tree_init(&frames), "paths");
    for (dw_path_id path = 1, id; path < profile->paths.count; path++) {
        const struct dw_path *of = &profile->paths.paths[path];
        require(!dw_path_intern(&frames, of->parent, profile->places.places[of->step].frame, &id),
                "path");
        require(id == path, "a frame at two places");
    }
    dw_log_write_paths(writer, &frames, 0);
    dw_path_tree_release(&frames);
}

void fixture_write_main(const struct dw_profile *profile, const struct dw_process *process,
                        uint64_t last_tick, struct dw_log_writer *writer)
{
    const struct dw_value_table *values = &profile->threads[0].values;
    dw_log_write_process(writer, 0, process, &profile->strings);
    dw_log_write_strings(writer, &profile->strings, 0);
    dw_log_write_frames(writer, &profile->frames, 0);
    write_paths(profile, writer);
    dw_log_write_thread(writer, 0, 0, 41, (struct dw_string){"MainThread", 10});
    dw_log_values_begin(writer, 0);
    for (uint32_t i = 0; i < values->count; i++) {
        struct dw_metric metric = fixture_metric(profile, 0, values->rows[i].path);
        dw_log_values_add(writer, values->rows[i].path, &metric, last_tick);
    }
    dw_log_values_end(writer);
}

void fixture_save(const struct dw_profile *profile, struct dw_log_writer *writer)
{
    require(!dw_log_writer_init(writer, -1), "writer");
    require(!dw_log_save(profile, writer), "save");
}

struct dw_profile *fixture_load(const uint8_t *bytes, size_t size)
{
    struct dw_profile *profile = NULL;
    require(!dw_profile_new(&profile), "new");
    require(!dw_log_read(bytes, size, DW_READ_EVENTS, profile), "read");
    return profile;
}
