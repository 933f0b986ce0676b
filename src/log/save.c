/* SPDX-License-Identifier: MIT
 * Blocks of events are encoded anew, because path ids and ticks change. A block
 * that grows too large is cut, for which the path open there must be known. */
#include "log/save.h"

#include "base/grow.h"
#include "log/copied_rows.h"
#include "log/writing.h"
#include "model/heap/heap_picture.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_TARGET (1u << 20)
#define NAME_LONGEST 512 /* a source as short as this may be a name, too */

/* In a saved log a tick is a nanosecond, but where rows are copied. */
static struct dw_clock_pair last_clock_of(const struct dw_process *process)
{
    struct dw_clock_pair last = process->last_clock;
    if (!process->has_ticks)
        last.tick = process->first_clock.wall_ns + dw_process_duration_ns(process);
    return last;
}

/* Streams that could not be joined describe one process twice. In a log of one stream the second
 * one gets a uuid of zeros, so that it does not count as read before. */
static int write_process(struct dw_log_saver *saver, const struct dw_profile *profile,
                         uint32_t index)
{
    struct dw_log_writer *writer = saver->writer;
    struct dw_process process = profile->processes[index];
    if (dw_process_find(profile, &saver->uuids, process.uuid) != DW_MAP_NONE)
        memset(process.uuid, 0, sizeof process.uuid);
    if (!process.has_ticks)
        process.first_clock.tick = process.first_clock.wall_ns;
    dw_log_write_process(writer, index, &process, &profile->strings);
    if (process.is_sampled)
        dw_log_write_sampling(writer, index, &process.sampling);
    return dw_process_index(profile, &saver->uuids, index);
}

static void write_timed(struct dw_log_writer *writer, const struct dw_profile *profile,
                        const struct dw_thread *thread, uint32_t index)
{
    const struct dw_clock_pair *epoch = &profile->processes[thread->process].first_clock;
    struct dw_buffer bytes = {0};
    uint64_t base = 0, last = 0;
    for (uint32_t i = 0; i < thread->timed_count; i++) {
        const struct dw_timed_sample *sample = &thread->timed[i];
        uint64_t now = epoch->monotonic_ns + (sample->time_ns - epoch->wall_ns);
        if (!bytes.size)
            base = last = now;
        dw_timed_row_put(&bytes, now - last, sample->path, sample->labels, sample->weight_ns);
        last = now;
        if (bytes.size >= BLOCK_TARGET || i + 1 == thread->timed_count) {
            dw_log_write_timed_rows(writer, index, base, &bytes);
            dw_buffer_clear(&bytes);
        }
    }
    if (bytes.failed && !writer->error)
        writer->error = DW_ERR_MEMORY;
    dw_buffer_release(&bytes);
}

/* Open entries are written as the sum of their starts, which the reader wants. */
static void write_row(struct dw_log_writer *writer, const struct dw_value_table *values,
                      const struct dw_value_row *row, uint64_t as_of)
{
    uint64_t numbers[DW_MEASURES], *at = numbers;
    dw_measure_mask mask = dw_value_told(values, row);
    bool may_be_open = mask & DW_MASK(DW_OPEN_TOTAL);
    uint64_t open = may_be_open ? dw_value_get(values, row, DW_OPEN) : 0;
    uint64_t open_total = may_be_open ? dw_value_get(values, row, DW_OPEN_TOTAL) : 0;
    for (dw_measure_mask rest = mask; rest; rest &= rest - 1, at++) {
        enum dw_measure measure = (enum dw_measure)__builtin_ctzll(rest);
        *at = dw_value_get(values, row, measure);
        if (measure == DW_TOTAL)
            *at -= open_total;
        else if (measure == DW_OPEN_TOTAL)
            *at = open * as_of - open_total;
    }
    dw_log_rows_add(writer, row->path, row->labels, mask, numbers,
                    row->spread ? &values->spreads[row->spread - 1] : NULL);
}

static void write_rows(struct dw_log_writer *writer, const struct dw_value_table *values,
                       uint32_t index, uint64_t as_of)
{
    dw_log_rows_begin(writer, index);
    for (uint32_t i = 0; i < values->count; i++)
        write_row(writer, values, &values->rows[i], as_of);
    dw_log_rows_end(writer);
}

static void write_numbers(struct dw_log_writer *writer, const struct dw_profile *profile,
                          uint32_t index)
{
    const struct dw_thread *thread = &profile->threads[index];
    const struct dw_process *process = &profile->processes[thread->process];
    if (process->has_ticks)
        dw_copied_rows_write(writer, &thread->values, index);
    else
        write_rows(writer, &thread->values, index, last_clock_of(process).tick);
    write_timed(writer, profile, thread, index);
}

/* The timeline of one thread on its way from old blocks to new ones. */
struct track {
    uint64_t expected; /* sequence of the next old block, unless some are lost */
    uint32_t sequence; /* of the block being written */
    uint64_t tick;     /* of the last event written */
    dw_path_id *open;  /* paths begun since the last gap */
    uint32_t depth, capacity;
    dw_path_id base; /* open below those */
};

struct saving {
    const struct dw_profile *profile;
    struct dw_log_writer *writer;
    struct track *tracks; /* of each thread, from the first one of this part on */
    uint32_t first_thread;
    struct dw_buffer events;
    uint64_t base_tick;
    dw_path_id top;
};

static dw_path_id top_of(const struct track *track)
{
    return track->depth ? track->open[track->depth - 1] : track->base;
}

static int follow(struct saving *saving, struct track *track, const struct dw_event *event)
{
    if (event->kind == DW_EVENT_ENTER || event->kind == DW_EVENT_RESUME) {
        int error = DW_GROW(track->open, track->depth, track->capacity);
        if (error)
            return error;
        track->open[track->depth++] = event->path;
    } else if (event->kind == DW_EVENT_EXIT || event->kind == DW_EVENT_SUSPEND) {
        if (track->depth)
            track->depth--;
        else
            track->base = saving->profile->paths.paths[track->base].parent;
    }
    return 0;
}

static void begin_block(struct saving *saving, struct track *track, uint64_t tick)
{
    dw_buffer_clear(&saving->events);
    saving->base_tick = track->tick = tick;
    saving->top = top_of(track);
}

static void end_block(struct saving *saving, struct track *track, uint32_t thread)
{
    if (!saving->events.size)
        return;
    dw_log_write_events(saving->writer, thread, track->sequence++, saving->base_tick, saving->top,
                        saving->events.data, saving->events.size);
}

static int add_event(struct saving *saving, struct track *track, uint32_t thread,
                     const struct dw_event *event)
{
    if (saving->events.size >= BLOCK_TARGET) {
        end_block(saving, track, thread);
        begin_block(saving, track, track->tick);
    }
    uint8_t *at = dw_buffer_reserve(&saving->events, DW_EVENT_MAX);
    if (!at)
        return DW_ERR_MEMORY;
    uint64_t delta = event->time_ns > track->tick ? event->time_ns - track->tick : 0;
    uint8_t *end = dw_event_encode(at, delta, event->kind, event->path, event->value);
    saving->events.size += (size_t)(end - at);
    track->tick += delta;
    return follow(saving, track, event);
}

/* A gap in the old sequence becomes one in the new. */
static void skip_gap(struct track *track, const struct dw_event_block *block)
{
    if (track->expected == block->sequence)
        return;
    track->sequence++;
    track->depth = 0;
    track->base = block->top;
}

static int save_block(struct saving *saving, const struct dw_event_block *block)
{
    struct track *track = &saving->tracks[block->thread - saving->first_thread];
    struct dw_event_reader reader;
    struct dw_event event;
    int error = dw_event_reader_init(&reader, saving->profile, block);
    if (error)
        return error == DW_ERR_DAMAGED ? 0 : error;
    skip_gap(track, block);
    bool more = dw_event_next(&reader, &event);
    begin_block(saving, track, more ? event.time_ns : 0);
    for (; more && !error; more = dw_event_next(&reader, &event))
        error = add_event(saving, track, block->thread, &event);
    end_block(saving, track, block->thread);
    bool whole = reader.cursor.at == reader.cursor.end && !reader.cursor.bad;
    track->expected = whole ? block->sequence + 1ull : UINT64_MAX;
    dw_event_reader_release(&reader);
    return error;
}

/* All blocks are of threads from the first one on. */
static int save_events(const struct dw_profile *profile, struct dw_log_writer *writer,
                       uint32_t first_thread)
{
    struct saving saving = {.profile = profile, .writer = writer, .first_thread = first_thread};
    uint32_t count = profile->thread_count - first_thread;
    saving.tracks = calloc(count + 1u, sizeof *saving.tracks);
    if (!saving.tracks)
        return DW_ERR_MEMORY;
    /* A first block that is numbered 0 is not a gap, but may start with something open. */
    for (uint32_t i = profile->block_count; i-- > 0;)
        if (!profile->blocks[i].sequence)
            saving.tracks[profile->blocks[i].thread - first_thread].base = profile->blocks[i].top;
    int error = 0;
    for (uint32_t i = 0; i < profile->block_count && !error && !writer->error; i++)
        error = save_block(&saving, &profile->blocks[i]);
    for (uint32_t i = 0; i < count; i++)
        free(saving.tracks[i].open);
    free(saving.tracks);
    dw_buffer_release(&saving.events);
    return error;
}

/* One chunk for each run of modules of one process. */
static void save_modules(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    for (uint32_t first = saver->modules, end; first < profile->module_count; first = end) {
        uint32_t process = profile->modules[first].process;
        for (end = first; end < profile->module_count && profile->modules[end].process == process;)
            end++;
        dw_log_write_modules(saver->writer, process, profile->modules, end, first);
    }
    saver->modules = profile->module_count;
}

/* Texts of sources have chunks of their own. Here their ids stand for nothing. */
static int save_strings_without_sources(struct dw_log_saver *saver,
                                        const struct dw_profile *profile)
{
    struct dw_string_table strings = profile->strings;
    strings.strings = malloc(strings.count * sizeof *strings.strings);
    if (!strings.strings)
        return DW_ERR_MEMORY;
    memcpy(strings.strings, profile->strings.strings, strings.count * sizeof *strings.strings);
    for (uint32_t i = saver->sources; i < profile->source_count; i++) {
        struct dw_string *text = &strings.strings[profile->sources[i].text];
        if (text->size > NAME_LONGEST)
            *text = (struct dw_string){"", 0};
    }
    dw_log_write_strings(saver->writer, &strings, saver->strings);
    free(strings.strings);
    return 0;
}

static bool have_same_times(const struct dw_series *a, const struct dw_series *b)
{
    if (a->process != b->process || a->thread != b->thread || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->points[i].time_ns != b->points[i].time_ns)
            return false;
    return true;
}

/* Gauges that were read together are written together. */
static void save_series(const struct dw_profile *profile, struct dw_log_writer *writer)
{
    for (uint32_t first = 0, end; first < profile->series_count; first = end) {
        const struct dw_series *series = &profile->series[first];
        for (end = first + 1; end < profile->series_count && end - first < DW_GAUGES_MAX &&
                              have_same_times(series, &profile->series[end]);)
            end++;
        dw_log_save_series(writer, profile, series, end - first);
    }
}

static void save_heaps(const struct dw_profile *profile, struct dw_log_writer *writer)
{
    for (uint32_t i = 0; i < profile->heap_count && !writer->error; i++) {
        const struct dw_heap_shot *shot = &profile->heaps[i];
        const struct dw_clock_pair *epoch = &profile->processes[shot->process].first_clock;
        dw_log_write_heap(writer, shot->process,
                          epoch->monotonic_ns + (shot->time_ns - epoch->wall_ns),
                          dw_profile_string(profile, shot->reason), &shot->heap);
    }
}

static int save_strings(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    int error = 0;
    if (saver->sources < profile->source_count)
        error = save_strings_without_sources(saver, profile);
    else
        dw_log_write_strings(saver->writer, &profile->strings, saver->strings);
    saver->strings = profile->strings.count;
    return error;
}

static int save_processes(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    int error = 0;
    for (uint32_t i = saver->processes; i < profile->process_count && !error; i++)
        error = write_process(saver, profile, i);
    return error;
}

static int save_definitions(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    struct dw_log_writer *writer = saver->writer;
    int error = save_processes(saver, profile);
    if (!error)
        error = save_strings(saver, profile);
    if (error)
        return error;
    dw_log_write_frames(writer, &profile->frames, saver->frames);
    save_modules(saver, profile);
    dw_log_write_places(writer, &profile->places, saver->places);
    dw_log_write_tree(writer, &profile->paths, saver->paths);
    dw_log_write_labels(writer, &profile->labels, saver->labels);
    if (!saver->processes)
        dw_log_write_measures(writer, DW_TICK_MASK);
    saver->frames = profile->frames.count;
    saver->places = profile->places.count;
    saver->paths = profile->paths.count;
    saver->labels = profile->labels.count;
    return 0;
}

/* The last clock of a process comes behind all its rows, since a clock says until when they are. */
static void write_last_clocks(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    for (uint32_t i = saver->processes; i < profile->process_count; i++) {
        const struct dw_process *process = &profile->processes[i];
        const struct dw_clock_pair *first = &process->first_clock;
        struct dw_clock_pair last = last_clock_of(process);
        if (last.tick != (process->has_ticks ? first->tick : first->wall_ns))
            dw_log_write_clock(saver->writer, i, &last);
    }
}

static int save_threads(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    for (uint32_t i = saver->threads; i < profile->thread_count; i++) {
        const struct dw_thread *thread = &profile->threads[i];
        dw_log_write_thread(saver->writer, i, thread->process, thread->tid,
                            dw_profile_string(profile, thread->name));
    }
    int error = dw_log_save_moments(saver->writer, profile, saver->processes, saver->threads);
    for (; saver->threads < profile->thread_count && !saver->writer->error; saver->threads++)
        write_numbers(saver->writer, profile, saver->threads);
    write_last_clocks(saver, profile);
    return error;
}

static void save_sources(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    for (; saver->sources < profile->source_count && !saver->writer->error; saver->sources++) {
        const struct dw_source *source = &profile->sources[saver->sources];
        dw_log_write_source(saver->writer, dw_profile_string(profile, source->file),
                            dw_profile_string(profile, source->text));
    }
}

static void save_ends(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    for (; saver->timings < profile->timing_count && !saver->writer->error; saver->timings++)
        dw_log_write_timing(saver->writer, &profile->timings[saver->timings], &profile->strings);
    for (; saver->processes < profile->process_count; saver->processes++) {
        const struct dw_process *process = &profile->processes[saver->processes];
        if (process->ended)
            dw_log_write_end(saver->writer, saver->processes, process->dropped,
                             process->is_reported);
    }
}

int dw_log_save_more(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    struct dw_log_writer *writer = saver->writer;
    uint32_t first_thread = saver->threads;
    int error = save_definitions(saver, profile);
    if (!error)
        error = save_threads(saver, profile);
    if (!error)
        error = save_events(profile, writer, first_thread);
    save_series(profile, writer);
    save_heaps(profile, writer);
    save_sources(saver, profile);
    save_ends(saver, profile);
    if (error && !writer->error)
        writer->error = error;
    return writer->error;
}

int dw_log_save_end(struct dw_log_saver *saver, const struct dw_profile *profile)
{
    dw_log_write_lines(saver->writer, 0, &profile->lines, 0);
    dw_map_release(&saver->uuids);
    return saver->writer->error;
}

int dw_log_save(const struct dw_profile *profile, struct dw_log_writer *writer)
{
    struct dw_log_saver saver = {.writer = writer};
    dw_log_save_more(&saver, profile);
    return dw_log_save_end(&saver, profile);
}
