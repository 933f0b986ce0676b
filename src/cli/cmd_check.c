/* SPDX-License-Identifier: MIT
 * `dwell check`: what a recording holds, and what of it is damaged. Exit status
 * 0 when it is whole, 1 when something is missing, 2 when it cannot be read. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/file.h"
#include "lens/view/column.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"
#include "log/chunk.h"
#include "log/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: dwell check FILE...\n"
    "\n"
    "Verifies recordings and prints what they hold. The exit status is 0 when all are whole,\n"
    "1 when something is missing (the rest can still be used), 2 when one cannot be read.\n";

/* The bytes as chunks, apart from what they mean. */
struct survey {
    uint64_t chunks, missing; /* missing: numbers left out in the sequence */
    uint64_t damaged_runs;
    bool header_damaged;
};

struct event_count {
    uint64_t events, damaged_blocks;
};

static void put_key(struct dw_out *out, const char *key)
{
    dw_out_printf(out, "  %-10s ", key);
}

static bool is_header_damaged(const struct dw_file *file)
{
    uint8_t header[DW_LOG_HEADER_SIZE];
    dw_log_header_put(header);
    return file->size < sizeof header || memcmp(file->data, header, sizeof header) != 0;
}

static void put_damage(struct dw_out *out, uint64_t from, uint64_t to)
{
    if (from == to)
        return;
    put_key(out, "damaged");
    dw_out_printf(out, "%" PRIu64 " bytes at offset %" PRIu64 "\n", to - from, from);
}

static void survey_chunks(struct dw_out *out, const struct dw_file *file, struct survey *survey)
{
    size_t start = 0;
    (void)dw_log_header_check(file->data, file->size, &start);
    struct dw_chunk_walk walk = {.bytes = file->data, .size = file->size, .at = start};
    struct dw_chunk chunk;
    uint64_t at = start, expected[DW_LOG_STREAMS_MAX] = {0};
    survey->header_damaged = is_header_damaged(file);
    if (survey->header_damaged)
        put_damage(out, 0, start);
    while (dw_chunk_next(&walk, &chunk)) {
        put_damage(out, at, walk.at - chunk.stored_size - DW_CHUNK_HEADER_SIZE);
        at = walk.at;
        survey->chunks++;
        if (chunk.stream >= DW_LOG_STREAMS_MAX)
            continue;
        uint64_t *next = &expected[chunk.stream];
        survey->missing += chunk.sequence > *next ? chunk.sequence - *next : 0;
        *next = chunk.sequence + 1ull;
    }
    put_damage(out, at, file->size);
    survey->damaged_runs = walk.damaged_runs;
}

static int count_events(const struct dw_profile *profile, struct event_count *count)
{
    for (uint32_t i = 0; i < profile->block_count; i++) {
        struct dw_event_reader reader;
        struct dw_event event;
        int error = dw_event_reader_init(&reader, profile, &profile->blocks[i]);
        if (error == DW_ERR_MEMORY)
            return error;
        count->damaged_blocks += error != 0;
        if (error)
            continue;
        while (dw_event_next(&reader, &event))
            count->events++;
        count->damaged_blocks += reader.cursor.bad || reader.cursor.at != reader.cursor.end;
        dw_event_reader_release(&reader);
    }
    return 0;
}

static void put_time(struct dw_out *out, uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / 1000000000u);
    struct tm parts;
    char text[64];
    put_key(out, "started");
    if (!gmtime_r(&seconds, &parts) || !strftime(text, sizeof text, "%F %T UTC", &parts))
        strcpy(text, "unknown");
    dw_out_printf(out, "%s\n", text);
}

static void put_process(struct dw_out *out, const struct dw_profile *profile, uint32_t index)
{
    static const struct {
        const char *label, *property;
    } lines[] = {{"program", "argv"}, {"host", "host"}, {"python", "python"}, {"dwell", "dwell"}};
    const struct dw_process *process = &profile->processes[index];
    put_key(out, "process");
    dw_out_printf(out, "%" PRIu64 "%s\n", process->pid, process->ended ? "" : " (log not closed)");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct dw_string value = dw_profile_property(profile, index, lines[i].property);
        if (!value.size)
            continue;
        put_key(out, lines[i].label);
        dw_out_printable(out, value.bytes, value.size);
        dw_out_char(out, '\n');
    }
    put_time(out, process->first_clock.wall_ns);
    put_key(out, "lasted");
    dw_out_duration(out, dw_process_duration_ns(process));
    dw_out_char(out, '\n');
}

static int put_processes(struct dw_out *out, const struct dw_profile *profile)
{
    uint32_t *order;
    int error = dw_roster_processes(profile, &order);
    if (error)
        return error;
    for (uint32_t i = 0; i < profile->process_count; i++)
        put_process(out, profile, order[i]);
    free(order);
    return 0;
}

static void put_count(struct dw_out *out, const char *key, uint64_t count)
{
    put_key(out, key);
    dw_out_printf(out, "%" PRIu64 "\n", count);
}

static void put_contents(struct dw_out *out, const struct dw_profile *profile,
                         const struct dw_file *file, const struct survey *survey,
                         const struct event_count *events)
{
    uint64_t values = 0, points = 0;
    for (uint32_t i = 0; i < profile->thread_count; i++)
        values += profile->threads[i].values.count;
    put_count(out, "processes", profile->process_count);
    put_count(out, "threads", profile->thread_count);
    put_count(out, "strings", profile->strings.count);
    put_count(out, "frames", profile->frames.count);
    put_count(out, "paths", profile->paths.count);
    put_count(out, "values", values);
    put_count(out, "events", events->events);
    for (uint32_t i = 0; i < profile->series_count; i++)
        points += profile->series[i].count;
    put_count(out, "sources", profile->source_count);
    if (points)
        put_count(out, "readings", points);
    if (profile->timing_count)
        put_count(out, "timings", profile->timing_count);
    if (profile->heap_count)
        put_count(out, "snapshots", profile->heap_count);
    put_key(out, "format");
    dw_out_printf(out, "version %d\n", DW_LOG_VERSION);
    put_key(out, "size");
    dw_out_printf(out, "%zu bytes, %" PRIu64 " chunks\n", file->size, survey->chunks);
}

static void put_verdict(struct dw_out *out, const struct dw_profile *profile,
                        const struct survey *survey, const struct event_count *events, bool whole)
{
    if (survey->missing)
        dw_out_printf(out, "chunks missing: %" PRIu64 "\n", survey->missing);
    if (events->damaged_blocks)
        dw_out_printf(out, "blocks of events that cannot be decoded: %" PRIu64 "\n",
                      events->damaged_blocks);
    dw_notes_put_losses(out, profile, "");
    dw_out_text(out, whole ? "whole\n" : "not whole: what is listed above is still held\n");
}

static int check_bytes(struct dw_out *out, const struct dw_file *file, int *status)
{
    struct dw_profile *profile;
    struct survey survey = {0};
    struct event_count events = {0};
    int error = dw_profile_new(&profile);
    if (error)
        return error;
    dw_cli_allow_memory(file);
    error = dw_log_read(file->data, file->size, DW_READ_EVENTS, profile);
    if (!error)
        error = count_events(profile, &events);
    if (!error)
        error = put_processes(out, profile);
    if (!error) {
        survey_chunks(out, file, &survey);
        put_contents(out, profile, file, &survey, &events);
        bool whole = !survey.missing && !survey.damaged_runs && !survey.header_damaged &&
                     !events.damaged_blocks && !profile->losses.damaged_chunks &&
                     !profile->losses.cut_files;
        put_verdict(out, profile, &survey, &events, whole);
        if (!whole && !*status)
            *status = DW_EXIT_TROUBLE;
    }
    dw_profile_free(profile);
    return error;
}

static void check(const char *path, int *status)
{
    struct dw_file file;
    struct dw_out out;
    int error = dw_file_open(path, &file);
    if (!error) {
        dw_out_init_fd(&out, STDOUT_FILENO);
        dw_out_printable(&out, path, strlen(path));
        dw_out_char(&out, '\n');
        error = check_bytes(&out, &file, status);
        if (error)
            dw_buffer_clear(&out.buffer);
        dw_out_close(&out);
        dw_file_close(&file);
    }
    if (error) {
        dw_cli_error(path, error);
        *status = DW_EXIT_USAGE;
    }
}

int dw_cmd_check(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    const struct dw_option known[] = {{.name = NULL}};
    int files = dw_cli_parse_files(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    int status = 0;
    for (int i = 1; i <= files; i++)
        check(argv[i], &status);
    return status;
}
