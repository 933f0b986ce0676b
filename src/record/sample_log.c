/* SPDX-License-Identifier: MIT */
#include "record/sample_log.h"

#include "base/grow.h"
#include "record/recorder.h"

#include <string.h>
#include <unistd.h>

#define STACKS_MAX (1u << 22)   /* after that, new stacks are one */
#define TIMED_TARGET (1u << 19) /* bytes of single samples that make a chunk */
#define OVERFLOW_NAME "<more stacks>"

struct dw_sample_thread {
    uint32_t id; /* in the log */
    uint64_t tid;
    char *name; /* owned; NULL: none */
    size_t name_size;
    bool is_written; /* with this name */
    bool has_ended, is_free;
    struct dw_sample_sums sums;
    bool *is_new; /* by row */
    uint32_t is_new_capacity;
    bool has_news;
    struct dw_buffer timed;
    uint64_t timed_base, timed_last;
};

static uint64_t hash_sample(const struct dw_sample_sum *sample)
{
    return dw_hash_mix((uint64_t)sample->stack << 32 | sample->state);
}

static bool equal(const void *samples, uint32_t id, const void *key)
{
    const struct dw_sample_sum *a = (const struct dw_sample_sum *)samples + id, *b = key;
    return a->stack == b->stack && a->state == b->state;
}

static uint64_t hash_of(const void *samples, uint32_t id)
{
    return hash_sample((const struct dw_sample_sum *)samples + id);
}

static void dw_sample_table_release(struct dw_sample_sums *table)
{
    free(table->samples);
    dw_map_release(&table->index);
    *table = (struct dw_sample_sums){0};
}

static struct dw_sample_sum *dw_sample_get(struct dw_sample_sums *table, dw_path_id stack,
                                           uint32_t state)
{
    struct dw_sample_sum key = {.stack = stack, .state = state};
    uint64_t hash = hash_sample(&key);
    uint32_t found = dw_map_find(&table->index, hash, equal, table->samples, &key);
    if (found != DW_MAP_NONE)
        return &table->samples[found];
    if (DW_GROW(table->samples, table->count, table->capacity))
        return NULL;
    table->samples[table->count] = key;
    if (dw_map_add(&table->index, hash, table->count, hash_of, table->samples))
        return NULL;
    return &table->samples[table->count++];
}

static int init_tables(struct dw_sample_log *log)
{
    int error = dw_frame_table_init(&log->frames, &log->strings);
    if (!error)
        error = dw_place_table_init(&log->places);
    if (!error)
        error = dw_path_tree_init(&log->stacks);
    return error;
}

static int open_writer(struct dw_sample_log *log, const char *path)
{
    int error = dw_log_writer_create(&log->writer, path);
    log->fd = log->writer.fd;
    log->writer.source_reader = log->source_reader;
    if (!error)
        dw_log_writer_agree(&log->writer, log->process.uuid);
    return error;
}

int dw_sample_log_open(struct dw_sample_log *log, const char *path, bool timeline)
{
    *log = (struct dw_sample_log){.fd = -1, .writer.fd = -1, .timeline = timeline};
    int error = init_tables(log);
    if (!error)
        error = dw_recorder_introduce(&log->process, &log->strings);
    log->process.first_clock.tick = log->process.first_clock.monotonic_ns;
    return error ? error : open_writer(log, path);
}

void dw_sample_log_read_sources_by(struct dw_sample_log *log, const struct dw_source_reader *reader)
{
    log->source_reader = log->writer.source_reader = reader;
}

int dw_sample_log_move(struct dw_sample_log *log, const char *path)
{
    dw_log_writer_release(&log->writer);
    return open_writer(log, path);
}

static void free_thread(struct dw_sample_thread *thread)
{
    dw_sample_table_release(&thread->sums);
    dw_buffer_release(&thread->timed);
    free(thread->is_new);
    free(thread->name);
    *thread = (struct dw_sample_thread){.is_free = true};
}

void dw_sample_log_release(struct dw_sample_log *log)
{
    for (uint32_t i = 0; i < log->thread_count; i++)
        free_thread(&log->threads[i]);
    free(log->threads);
    free(log->modules);
    free(log->process.properties);
    dw_path_tree_release(&log->stacks);
    dw_place_table_release(&log->places);
    dw_frame_table_release(&log->frames);
    dw_string_table_release(&log->strings);
    dw_log_writer_close(&log->writer);
    dw_log_writer_release(&log->writer);
    *log = (struct dw_sample_log){.fd = -1};
}

void dw_sample_log_of(struct dw_sample_log *log, uint64_t pid)
{
    log->process.pid = pid;
    log->process.property_count = 0;
    dw_sample_log_describe(log, "dwell", DW_VERSION);
}

int dw_sample_log_describe(struct dw_sample_log *log, const char *key, const char *value)
{
    struct dw_property property;
    struct dw_process *process = &log->process;
    if (dw_redacts_property(key, strlen(key)))
        return 0;
    int error = dw_string_intern(&log->strings, key, strlen(key), &property.key);
    if (!error)
        error = dw_string_intern(&log->strings, value, strlen(value), &property.value);
    if (!error)
        error = DW_GROW(process->properties, process->property_count, process->property_capacity);
    if (!error)
        process->properties[process->property_count++] = property;
    return error;
}

int dw_sample_log_string(struct dw_sample_log *log, const void *bytes, size_t size,
                         dw_string_id *id)
{
    return dw_string_intern(&log->strings, bytes, size, id);
}

int dw_sample_log_frame(struct dw_sample_log *log, const struct dw_frame *frame, dw_frame_id *id)
{
    return dw_frame_intern(&log->frames, frame, id);
}

int dw_sample_log_place(struct dw_sample_log *log, const struct dw_place *place, dw_place_id *id)
{
    return dw_place_intern(&log->places, place, id);
}

static int overflow_place(struct dw_sample_log *log, dw_place_id *id)
{
    struct dw_frame frame = {.kind = DW_FRAME_MARK};
    struct dw_place place = {0};
    int error = dw_string_intern(&log->strings, OVERFLOW_NAME, strlen(OVERFLOW_NAME), &frame.name);
    if (!error)
        error = dw_frame_intern(&log->frames, &frame, &place.frame);
    return error ? error : dw_place_intern(&log->places, &place, id);
}

int dw_sample_log_stack(struct dw_sample_log *log, dw_path_id parent, dw_place_id place,
                        dw_path_id *id)
{
    int error = 0;
    if (log->stacks.count >= STACKS_MAX) {
        parent = DW_PATH_ROOT;
        error = overflow_place(log, &place);
    }
    return error ? error : dw_path_intern(&log->stacks, parent, place, id);
}

int dw_sample_log_module(struct dw_sample_log *log, const struct dw_module *module, uint32_t *id)
{
    int error = DW_GROW(log->modules, log->module_count, log->module_capacity);
    if (error)
        return error;
    log->modules[log->module_count] = *module;
    *id = ++log->module_count;
    return 0;
}

static uint32_t find_free(const struct dw_sample_log *log)
{
    uint32_t index = 0;
    while (index < log->thread_count && !log->threads[index].is_free)
        index++;
    return index;
}

int dw_sample_log_thread(struct dw_sample_log *log, uint64_t tid, uint32_t *thread)
{
    uint32_t index = log->free_threads ? find_free(log) : log->thread_count;
    int error = DW_GROW(log->threads, index, log->thread_capacity);
    if (error)
        return error;
    log->free_threads -= index < log->thread_count;
    log->thread_count += index == log->thread_count;
    log->threads[index] = (struct dw_sample_thread){.id = log->next_thread++, .tid = tid};
    *thread = index;
    return 0;
}

void dw_sample_log_end_thread(struct dw_sample_log *log, uint32_t thread)
{
    log->threads[thread].has_ended = true;
}

/* A program may start threads for ever. What is in memory only is needed to the end. */
static void forget_ended_threads(struct dw_sample_log *log)
{
    for (uint32_t i = 0; i < log->thread_count && log->fd >= 0; i++) {
        if (!log->threads[i].has_ended)
            continue;
        free_thread(&log->threads[i]);
        log->free_threads++;
    }
}

int dw_sample_log_name_thread(struct dw_sample_log *log, uint32_t index, const char *name,
                              size_t size)
{
    struct dw_sample_thread *thread = &log->threads[index];
    if (thread->name && thread->name_size == size && !memcmp(thread->name, name, size))
        return 0;
    char *copy = malloc(size + 1);
    if (!copy)
        return DW_ERR_MEMORY;
    memcpy(copy, name, size);
    copy[size] = 0;
    free(thread->name);
    thread->name = copy;
    thread->name_size = size;
    thread->is_written = false;
    return 0;
}

static struct dw_string name_of(const struct dw_sample_thread *thread)
{
    return (struct dw_string){thread->name ? thread->name : "", thread->name_size};
}

struct dw_string dw_sample_log_thread_name(const struct dw_sample_log *log, uint32_t thread,
                                           uint64_t *tid)
{
    *tid = log->threads[thread].tid;
    return name_of(&log->threads[thread]);
}

/* Marks the row of the sample as one that the log has to be told. */
static int mark_new(struct dw_sample_thread *thread, const struct dw_sample_sum *sample)
{
    uint32_t row = (uint32_t)(sample - thread->sums.samples);
    while (thread->is_new_capacity <= row) {
        uint32_t before = thread->is_new_capacity;
        int error =
            dw_grow((void **)&thread->is_new, &thread->is_new_capacity, sizeof *thread->is_new);
        if (error)
            return error;
        memset(thread->is_new + before, 0, thread->is_new_capacity - before);
    }
    thread->is_new[row] = thread->has_news = true;
    return 0;
}

static void write_timed(struct dw_sample_log *log, uint32_t index)
{
    struct dw_sample_thread *thread = &log->threads[index];
    if (thread->timed.size)
        dw_log_write_timed_samples(&log->writer, thread->id, thread->timed_base, &thread->timed);
    dw_buffer_restart(&thread->timed);
}

static void keep_timed(struct dw_sample_thread *thread, dw_path_id stack, uint32_t state,
                       uint64_t now_ns, uint64_t weight_ns)
{
    if (!thread->timed.size)
        thread->timed_base = thread->timed_last = now_ns;
    uint64_t delta = now_ns > thread->timed_last ? now_ns - thread->timed_last : 0;
    dw_timed_sample_put(&thread->timed, delta, stack, state, weight_ns);
    thread->timed_last += delta;
}

static void write_definitions(struct dw_sample_log *log)
{
    struct dw_log_writer *writer = &log->writer;
    if (!log->strings_written)
        dw_log_write_process(writer, 0, &log->process, &log->strings);
    dw_log_write_strings(writer, &log->strings, log->strings_written);
    dw_log_write_frames(writer, &log->frames, log->frames_written);
    dw_log_write_modules(writer, 0, log->modules, log->module_count, log->modules_written);
    dw_log_write_places(writer, &log->places, log->places_written);
    dw_log_write_stacks(writer, &log->stacks, log->stacks_written);
    for (uint32_t i = log->frames_written; i < log->frames.count && log->fd >= 0; i++)
        if (log->frames.frames[i].kind == DW_FRAME_FUNCTION)
            dw_log_write_source_once(writer, &log->strings, log->frames.frames[i].file);
    log->strings_written = log->strings.count;
    log->frames_written = log->frames.count;
    log->modules_written = log->module_count;
    log->places_written = log->places.count;
    log->stacks_written = log->stacks.count;
}

static void write_thread(struct dw_sample_log *log, uint32_t index)
{
    struct dw_sample_thread *thread = &log->threads[index];
    if (!thread->is_written)
        dw_log_write_thread(&log->writer, thread->id, 0, thread->tid, name_of(thread));
    thread->is_written = true;
    if (thread->has_news) {
        dw_log_write_samples(&log->writer, thread->id, &thread->sums, thread->is_new);
        memset(thread->is_new, 0, thread->is_new_capacity);
    }
    thread->has_news = false;
}

int dw_sample_log_add_time(struct dw_sample_log *log, uint32_t index, dw_path_id stack,
                           uint32_t state, uint64_t now_ns, uint64_t weight_ns)
{
    struct dw_sample_thread *thread = &log->threads[index];
    struct dw_sample_sum *sample = dw_sample_get(&thread->sums, stack, state);
    if (!sample)
        return DW_ERR_MEMORY;
    sample->weight_ns += weight_ns;
    if (log->timeline)
        keep_timed(thread, stack, state, now_ns, weight_ns);
    if (thread->timed.size >= TIMED_TARGET && log->strings_written) {
        write_definitions(log);
        write_thread(log, index);
        write_timed(log, index);
    }
    return mark_new(thread, sample);
}

int dw_sample_log_add(struct dw_sample_log *log, uint32_t index, dw_path_id stack, uint32_t state,
                      uint64_t now_ns, uint64_t weight_ns)
{
    struct dw_sample_sum *sample = dw_sample_get(&log->threads[index].sums, stack, state);
    if (!sample)
        return DW_ERR_MEMORY;
    sample->count++;
    return dw_sample_log_add_time(log, index, stack, state, now_ns, weight_ns);
}

bool dw_sample_log_is_empty(const struct dw_sample_log *log)
{
    for (uint32_t i = 0; i < log->thread_count; i++)
        if (log->threads[i].sums.count)
            return false;
    return true;
}

int dw_sample_log_flush(struct dw_sample_log *log, bool last)
{
    struct dw_clock_pair now = dw_clock_pair_now();
    now.tick = now.monotonic_ns;
    write_definitions(log);
    for (uint32_t i = 0; i < log->thread_count; i++) {
        if (log->threads[i].is_free)
            continue;
        write_thread(log, i);
        write_timed(log, i);
    }
    forget_ended_threads(log);
    dw_log_write_sampling(&log->writer, 0, &log->sampling);
    dw_log_write_clock(&log->writer, 0, &now);
    if (last)
        dw_log_write_end(&log->writer, 0, 0, false);
    return dw_log_writer_error(&log->writer);
}
