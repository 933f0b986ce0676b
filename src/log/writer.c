/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "log/writer.h"

#include "base/error.h"
#include "base/file.h"
#include "base/varint.h"
#include "log/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define COMPRESSION_LEVEL 1
#define EXTENSION ".dwell"
#define CHUNK_TARGET (1u << 20) /* definitions are cut into chunks of about this size */

static void fail(struct dw_log_writer *writer, int error)
{
    if (writer->error)
        return;
    writer->error = error;
    writer->saved_errno = errno;
}

/* The number may be that of another file by now, which must not get our bytes. */
static bool has_our_file(const struct dw_log_writer *writer)
{
    struct stat now;
    return !fstat(writer->fd, &now) && now.st_dev == writer->device && now.st_ino == writer->inode;
}

static void append(struct dw_log_writer *writer, const uint8_t *bytes, size_t size)
{
    if (writer->fd < 0) {
        dw_buffer_append(&writer->memory, bytes, size);
        if (writer->memory.failed)
            fail(writer, DW_ERR_MEMORY);
    } else if (!writer->error && !has_our_file(writer)) {
        errno = EBADF;
        fail(writer, DW_ERR_IO);
    }
    for (size_t done = 0; writer->fd >= 0 && !writer->error && done < size;) {
        ssize_t wrote = write(writer->fd, bytes + done, size - done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            fail(writer, DW_ERR_IO);
    }
    writer->bytes += size;
}

static int open_writer(struct dw_log_writer *writer, int fd)
{
    struct stat file = {0};
    *writer = (struct dw_log_writer){.fd = fd, .compressor = ZSTD_createCCtx()};
    if (fd >= 0 && fstat(fd, &file))
        return DW_ERR_IO;
    writer->device = file.st_dev;
    writer->inode = file.st_ino;
    return writer->compressor ? 0 : DW_ERR_MEMORY;
}

static int begin_file(struct dw_log_writer *writer)
{
    uint8_t header[DW_LOG_HEADER_SIZE];
    dw_log_header_put(header);
    append(writer, header, sizeof header);
    return writer->error;
}

int dw_log_writer_init(struct dw_log_writer *writer, int fd)
{
    int error = open_writer(writer, fd);
    return error ? error : begin_file(writer);
}

void dw_log_writer_release(struct dw_log_writer *writer)
{
    ZSTD_freeCCtx(writer->compressor);
    dw_buffer_release(&writer->memory);
    free(writer->has_source);
    dw_buffer_release(&writer->payload);
    dw_buffer_release(&writer->frame);
}

bool dw_log_may_replace(const char *path)
{
    char head[DW_LOG_MAGIC_SIZE];
    struct stat file;
    if (stat(path, &file) || !S_ISREG(file.st_mode) || !file.st_size)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* the trouble is told when it is to be written */
    bool is_log =
        read(fd, head, sizeof head) == sizeof head && !memcmp(head, DW_LOG_MAGIC, sizeof head);
    close(fd);
    errno = EEXIST;
    return is_log;
}

static int open_file(const char *path)
{
    return dw_log_may_replace(path) ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                                    : -1;
}

int dw_log_writer_create(struct dw_log_writer *writer, const char *path)
{
    int fd = path ? open_file(path) : -1;
    *writer = (struct dw_log_writer){.fd = -1};
    int error = path && fd < 0 ? DW_ERR_IO : open_writer(writer, fd);
    if (!error && fd >= 0)
        error = dw_shared_file_join(writer->device, writer->inode, &writer->stream);
    if (error) {
        fail(writer, error);
        if (fd >= 0)
            close(fd);
        writer->fd = -1;
    }
    if (error || writer->stream)
        return dw_log_writer_error(writer);
    (void)!ftruncate(fd, 0); /* devices and pipes have nothing to cut */
    return begin_file(writer);
}

size_t dw_log_stem_size(const char *path)
{
    size_t size = strlen(path), extension = strlen(EXTENSION);
    bool has_extension = size > extension && !strcmp(path + size - extension, EXTENSION);
    return has_extension ? size - extension : size;
}

int dw_log_name_child(char *path, size_t size, size_t stem_size)
{
    int written = snprintf(path + stem_size, size - stem_size, ".%d" EXTENSION, (int)getpid());
    errno = ENAMETOOLONG;
    return written < (int)(size - stem_size) ? 0 : DW_ERR_IO;
}

void dw_log_writer_agree(const struct dw_log_writer *writer, uint8_t uuid[16])
{
    if (writer->fd >= 0)
        dw_shared_file_agree(writer->device, writer->inode, uuid);
}

int dw_log_writer_close(struct dw_log_writer *writer)
{
    bool is_open = writer->fd >= 0 && has_our_file(writer);
    if (writer->fd >= 0)
        dw_shared_file_leave(writer->device, writer->inode);
    int error = is_open && close(writer->fd) ? DW_ERR_IO : 0;
    writer->fd = -1;
    return error;
}

int dw_log_writer_error(const struct dw_log_writer *writer)
{
    errno = writer->saved_errno;
    return writer->error;
}

/* Header and payload leave in one write, so that a kill tears at most this chunk.
 * The prefix is stored as it is, before the compressed payload. */
static void write_prefixed_chunk(struct dw_log_writer *writer, enum dw_chunk_type type,
                                 const uint8_t *prefix, size_t prefix_size)
{
    if (writer->error)
        return;
    size_t raw_size = writer->payload.size;
    size_t bound = ZSTD_compressBound(raw_size);
    dw_buffer_clear(&writer->frame);
    uint8_t *frame = dw_buffer_reserve(&writer->frame, DW_CHUNK_HEADER_SIZE + prefix_size + bound);
    if (writer->payload.failed || !frame)
        return fail(writer, DW_ERR_MEMORY);
    if (raw_size > DW_CHUNK_RAW_MAX)
        return fail(writer, DW_ERR_TOO_LARGE);
    uint8_t *stored = frame + DW_CHUNK_HEADER_SIZE;
    if (prefix_size)
        memcpy(stored, prefix, prefix_size);
    size_t packed = ZSTD_compressCCtx(writer->compressor, stored + prefix_size, bound,
                                      writer->payload.data, raw_size, COMPRESSION_LEVEL);
    if (ZSTD_isError(packed))
        return fail(writer, DW_ERR_MEMORY);
    struct dw_chunk chunk = {
        .type = (uint16_t)type,
        .stream = writer->stream,
        .sequence = writer->sequence++,
        .raw_size = (uint32_t)raw_size,
        .stored_size = (uint32_t)(prefix_size + packed),
        .stored = stored,
    };
    dw_chunk_put(frame, &chunk);
    append(writer, frame, DW_CHUNK_HEADER_SIZE + chunk.stored_size);
}

static void write_chunk(struct dw_log_writer *writer, enum dw_chunk_type type)
{
    write_prefixed_chunk(writer, type, NULL, 0);
}

static struct dw_buffer *begin(struct dw_log_writer *writer)
{
    dw_buffer_clear(&writer->payload);
    return &writer->payload;
}

static void put_string(struct dw_buffer *payload, struct dw_string string)
{
    dw_buffer_put_blob(payload, string.bytes, string.size);
}

static void put_clock(struct dw_buffer *payload, const struct dw_clock_pair *clock)
{
    dw_buffer_put(payload, clock->tick);
    dw_buffer_put(payload, clock->monotonic_ns);
    dw_buffer_put(payload, clock->wall_ns);
}

static void put_properties(struct dw_buffer *payload, const struct dw_property *properties,
                           uint32_t count, const struct dw_string_table *strings)
{
    dw_buffer_put(payload, count);
    for (uint32_t i = 0; i < count; i++) {
        put_string(payload, strings->strings[properties[i].key]);
        put_string(payload, strings->strings[properties[i].value]);
    }
}

void dw_log_write_process(struct dw_log_writer *writer, uint32_t id,
                          const struct dw_process *process, const struct dw_string_table *strings)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, id);
    dw_buffer_append(payload, process->uuid, sizeof process->uuid);
    dw_buffer_put(payload, process->pid);
    put_clock(payload, &process->first_clock);
    put_properties(payload, process->properties, process->property_count, strings);
    write_chunk(writer, DW_CHUNK_PROCESS);
}

void dw_log_write_clock(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_clock_pair *now)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, process);
    put_clock(payload, now);
    write_chunk(writer, DW_CHUNK_CLOCK);
}

/* Cuts a table into chunks: id of the first entry, then entries up to the end. */
#define WRITE_TABLE(type, first, count, put_entry)                                                 \
    for (uint32_t at = (first); at < (count);) {                                                   \
        struct dw_buffer *payload = begin(writer);                                                 \
        dw_buffer_put(payload, at);                                                                \
        for (; at < (count) && payload->size < CHUNK_TARGET && !payload->failed; at++) {           \
            put_entry;                                                                             \
        }                                                                                          \
        write_chunk(writer, type);                                                                 \
        if (writer->error)                                                                         \
            return;                                                                                \
    }

/* A string that no chunk could hold is cut; 2 MiB of name are enough. */
static struct dw_string bounded(struct dw_string string)
{
    if (string.size > 2 * CHUNK_TARGET)
        string.size = 2 * CHUNK_TARGET;
    return string;
}

void dw_log_write_strings(struct dw_log_writer *writer, const struct dw_string_table *strings,
                          uint32_t first)
{
    WRITE_TABLE(DW_CHUNK_STRINGS, first, strings->count,
                put_string(payload, bounded(strings->strings[at])))
}

static void put_frame(struct dw_buffer *payload, const struct dw_frame *frame)
{
    dw_buffer_put(payload, frame->kind);
    dw_buffer_put(payload, frame->name);
    dw_buffer_put(payload, frame->file);
    dw_buffer_put(payload, frame->line);
}

void dw_log_write_frames(struct dw_log_writer *writer, const struct dw_frame_table *frames,
                         uint32_t first)
{
    WRITE_TABLE(DW_CHUNK_FRAMES, first, frames->count, put_frame(payload, &frames->frames[at]))
}

static void put_path(struct dw_buffer *payload, const struct dw_path *path)
{
    dw_buffer_put(payload, path->parent);
    dw_buffer_put(payload, path->frame);
}

void dw_log_write_paths(struct dw_log_writer *writer, const struct dw_path_tree *paths,
                        uint32_t first)
{
    WRITE_TABLE(DW_CHUNK_PATHS, first, paths->count, put_path(payload, &paths->paths[at]))
}

void dw_log_write_thread(struct dw_log_writer *writer, uint32_t id, uint32_t process, uint64_t tid,
                         struct dw_string name)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, id);
    dw_buffer_put(payload, process);
    dw_buffer_put(payload, tid);
    put_string(payload, bounded(name));
    write_chunk(writer, DW_CHUNK_THREAD);
}

void dw_log_write_source(struct dw_log_writer *writer, struct dw_string file, struct dw_string text)
{
    struct dw_buffer *payload = begin(writer);
    put_string(payload, file);
    put_string(payload, bounded(text));
    write_chunk(writer, DW_CHUNK_SOURCE);
}

static bool is_new_file(struct dw_log_writer *writer, dw_string_id file)
{
    if (file >= writer->has_source_size) {
        uint32_t size = (file + 64) * 2;
        uint8_t *grown = realloc(writer->has_source, size);
        if (!grown)
            return false;
        memset(grown + writer->has_source_size, 0, size - writer->has_source_size);
        writer->has_source = grown;
        writer->has_source_size = size;
    }
    bool is_new = file && !writer->has_source[file];
    writer->has_source[file] = 1;
    return is_new;
}

void dw_log_write_source_once(struct dw_log_writer *writer, const struct dw_string_table *strings,
                              dw_string_id id)
{
    struct dw_file file;
    struct dw_string name = strings->strings[id];
    if (!is_new_file(writer, id) || dw_file_open(name.bytes, &file))
        return;
    dw_log_write_source(writer, name, (struct dw_string){(const char *)file.data, file.size});
    dw_file_close(&file);
}

/* The metrics that are 0 are left out: a mask says which are there. */
static void put_line(struct dw_buffer *payload, const struct dw_line *line)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        mask |= (uint64_t)(line->values[i] != 0) << i;
    dw_buffer_put(payload, line->function);
    dw_buffer_put(payload, line->line);
    dw_buffer_put(payload, line->callee);
    dw_buffer_put(payload, mask);
    for (size_t i = 0; i < DW_LINE_METRICS; i++)
        if (line->values[i])
            dw_buffer_put(payload, line->values[i]);
}

void dw_log_write_lines(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_line_table *lines, uint32_t first)
{
    for (uint32_t id = first; id < lines->count && !writer->error;) {
        struct dw_buffer *payload = begin(writer);
        dw_buffer_put(payload, process);
        while (id < lines->count && payload->size < CHUNK_TARGET)
            put_line(payload, &lines->lines[id++]);
        write_chunk(writer, DW_CHUNK_LINES);
    }
}

void dw_log_write_timing(struct dw_log_writer *writer, const struct dw_timing *timing,
                         const struct dw_string_table *strings)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, timing->process);
    put_string(payload, bounded(strings->strings[timing->name]));
    put_properties(payload, timing->properties, timing->property_count, strings);
    dw_buffer_put(payload, timing->loops);
    dw_buffer_put(payload, timing->run_count);
    for (uint32_t i = 0; i < timing->run_count; i++)
        dw_buffer_put(payload, timing->runs_ns[i]);
    write_chunk(writer, DW_CHUNK_TIMINGS);
}

static void put_module(struct dw_buffer *payload, const struct dw_module *module)
{
    dw_buffer_put(payload, module->path);
    dw_buffer_put(payload, module->start);
    dw_buffer_put(payload, module->end);
    dw_buffer_put(payload, module->file_offset);
    dw_buffer_put(payload, module->bias);
    dw_buffer_put_blob(payload, module->build_id, module->build_id_size);
}

void dw_log_write_modules(struct dw_log_writer *writer, uint32_t process,
                          const struct dw_module *modules, uint32_t count, uint32_t first)
{
    while (first < count && !writer->error) {
        struct dw_buffer *payload = begin(writer);
        dw_buffer_put(payload, process);
        dw_buffer_put(payload, first);
        while (first < count && payload->size < CHUNK_TARGET)
            put_module(payload, &modules[first++]);
        write_chunk(writer, DW_CHUNK_MODULES);
    }
}

static void put_place(struct dw_buffer *payload, const struct dw_place *place)
{
    dw_buffer_put(payload, place->frame);
    dw_buffer_put(payload, place->line);
    dw_buffer_put(payload, place->end_line);
    dw_buffer_put(payload, place->column);
    dw_buffer_put(payload, place->end_column);
    dw_buffer_put(payload, place->module);
    dw_buffer_put(payload, place->address);
    dw_buffer_put(payload, place->outer);
}

void dw_log_write_places(struct dw_log_writer *writer, const struct dw_place_table *places,
                         uint32_t first)
{
    WRITE_TABLE(DW_CHUNK_PLACES, first, places->count, put_place(payload, &places->places[at]))
}

void dw_log_write_stacks(struct dw_log_writer *writer, const struct dw_path_tree *stacks,
                         uint32_t first)
{
    WRITE_TABLE(DW_CHUNK_STACKS, first, stacks->count, put_path(payload, &stacks->paths[at]))
}

static void put_sample(struct dw_buffer *payload, const struct dw_sample *sample)
{
    dw_buffer_put(payload, sample->stack);
    dw_buffer_put(payload, sample->state);
    dw_buffer_put(payload, sample->count);
    dw_buffer_put(payload, sample->weight_ns);
}

void dw_log_write_samples(struct dw_log_writer *writer, uint32_t thread,
                          const struct dw_sample_table *samples, const bool *is_new)
{
    for (uint32_t i = 0; i < samples->count && !writer->error;) {
        struct dw_buffer *payload = begin(writer);
        dw_buffer_put(payload, thread);
        size_t empty = payload->size;
        for (; i < samples->count && payload->size < CHUNK_TARGET; i++)
            if (!is_new || is_new[i])
                put_sample(payload, &samples->samples[i]);
        if (payload->size > empty)
            write_chunk(writer, DW_CHUNK_SAMPLES);
    }
}

void dw_log_write_sampling(struct dw_log_writer *writer, uint32_t process,
                           const struct dw_sampling *sampling)
{
    struct dw_buffer *payload = begin(writer);
    uint64_t numbers[] = {
        process,          sampling->mode,    sampling->native, sampling->period_ns, sampling->taken,
        sampling->missed, sampling->guessed, sampling->cut,    sampling->retried};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_buffer_put(payload, numbers[i]);
    write_chunk(writer, DW_CHUNK_SAMPLING);
}

void dw_timed_sample_put(struct dw_buffer *bytes, uint64_t delta_ticks, dw_path_id stack,
                         uint32_t state, uint64_t weight_ns)
{
    dw_buffer_put(bytes, delta_ticks);
    dw_buffer_put(bytes, stack);
    dw_buffer_put(bytes, state);
    dw_buffer_put(bytes, weight_ns);
}

void dw_log_write_timed_samples(struct dw_log_writer *writer, uint32_t thread, uint64_t base_tick,
                                const struct dw_buffer *bytes)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, thread);
    dw_buffer_put(payload, base_tick);
    dw_buffer_append(payload, bytes->data, bytes->size);
    write_chunk(writer, DW_CHUNK_TIMED_SAMPLES);
}

void dw_log_write_end(struct dw_log_writer *writer, uint32_t process, uint64_t dropped)
{
    struct dw_buffer *payload = begin(writer);
    dw_buffer_put(payload, process);
    dw_buffer_put(payload, dropped);
    write_chunk(writer, DW_CHUNK_END);
}

void dw_log_values_begin(struct dw_log_writer *writer, uint32_t thread)
{
    writer->values_thread = thread;
    writer->values_count = 0;
    dw_buffer_put(begin(writer), thread);
}

static void put_histogram(struct dw_buffer *payload, const struct dw_histogram *histogram)
{
    uint32_t previous = 0;
    dw_buffer_put(payload, histogram->count);
    for (uint32_t i = 0; i < histogram->count; i++) {
        dw_buffer_put(payload, histogram->entries[i].bucket - previous);
        dw_buffer_put(payload, histogram->entries[i].count);
        previous = histogram->entries[i].bucket;
    }
}

/* Open entries are stored as the sum of their starts: while nothing else happens the
 * numbers stay the same, and the log need not be told again. */
void dw_log_values_add(struct dw_log_writer *writer, dw_path_id path,
                       const struct dw_metric *metric, uint64_t as_of)
{
    struct dw_buffer *payload = &writer->payload;
    uint64_t numbers[] = {path,
                          metric->count,
                          metric->total - metric->open_total,
                          metric->suspended,
                          metric->children,
                          metric->cpu,
                          metric->min,
                          metric->max,
                          metric->open,
                          metric->open * as_of - metric->open_total,
                          (uint64_t)metric->sum_squares,
                          (uint64_t)(metric->sum_squares >> 64)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dw_buffer_put(payload, numbers[i]);
    put_histogram(payload, &metric->histogram);
    writer->values_count++;
    if (payload->size < CHUNK_TARGET)
        return;
    dw_log_values_end(writer);
    dw_log_values_begin(writer, writer->values_thread);
}

void dw_log_values_end(struct dw_log_writer *writer)
{
    if (writer->values_count)
        write_chunk(writer, DW_CHUNK_VALUES);
}

void dw_log_write_events(struct dw_log_writer *writer, uint32_t thread, uint32_t sequence,
                         uint64_t base_tick, dw_path_id top, const uint8_t *events, size_t size)
{
    uint8_t prefix[4 * DW_VARINT_MAX];
    uint8_t *end = dw_varint_put(prefix, thread);
    end = dw_varint_put(end, sequence);
    end = dw_varint_put(end, base_tick);
    end = dw_varint_put(end, top);
    dw_buffer_append(begin(writer), events, size);
    write_prefixed_chunk(writer, DW_CHUNK_EVENTS, prefix, (size_t)(end - prefix));
}
