/* SPDX-License-Identifier: MIT
 * Reading the files that a command was given, and saying what is wrong with them. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/memory_limit.h"
#include "import/import.h"
#include "lens/timing/timings.h"
#include "lens/view/column.h"
#include "log/reader.h"
#include "model/moments.h"
#include "model/prepare/heap_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HEAP_BYTES_MAX (UINT64_C(64) << 20)

int dw_cli_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("dwell: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return DW_EXIT_USAGE;
}

int dw_cli_error(const char *file, int error)
{
    bool is_ours = error == DW_ERR_MEMORY && dw_memory_is_limited();
    const char *reason =
        is_ours ? "takes more memory than a file of its size may; DWELL_MEMORY_MB allows more"
                : dw_error_text(error);
    fprintf(stderr, "dwell: %s: %s\n", file, reason);
    return DW_EXIT_TROUBLE;
}

bool dw_cli_can_go_on(int error)
{
    return error == DW_ERR_IO || error == DW_ERR_NOT_DWELL || error == DW_ERR_EMPTY ||
           error == DW_ERR_VERSION || error == DW_ERR_DAMAGED || error == DW_ERR_NO_SAMPLES;
}

static uint64_t written_ns(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return 0;
    return (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
}

/* Objects of a heap may be all alike, and pack to next to nothing. */
static size_t packed_heap(const struct dw_file *file)
{
    uint64_t bytes = dw_log_heap_bytes(file->data, file->size);
    return (size_t)(bytes < HEAP_BYTES_MAX ? bytes : HEAP_BYTES_MAX) / 4;
}

void dw_cli_allow_memory(const struct dw_file *file)
{
    dw_memory_allow(file->size + packed_heap(file));
}

int dw_cli_read_one(const char *path, unsigned flags, struct dw_profile *profile)
{
    struct dw_file file;
    int error = dw_file_open_any(path, &file);
    if (error)
        return error;
    const char *slash = strrchr(path, '/');
    dw_cli_allow_memory(&file);
    error = dw_log_read(file.data, file.size, flags, profile);
    if (error == DW_ERR_NOT_DWELL)
        error =
            dw_import(file.data, file.size, slash ? slash + 1 : path, written_ns(path), profile);
    dw_file_close(&file);
    return error;
}

/* Which kinds of times the files mix, when they cannot be added up; else NULL. */
static const char *find_mixture(const struct dw_profile *profile)
{
    uint32_t seen[DW_SAMPLE_MODES] = {0};
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (profile->processes[i].is_sampled)
            seen[profile->processes[i].sampling.mode]++;
    if (seen[DW_SAMPLE_COUNTS] && seen[DW_SAMPLE_COUNTS] < profile->process_count)
        return "some files hold times, others numbers of samples";
    if (seen[DW_SAMPLE_CPU] && seen[DW_SAMPLE_WALL])
        return "some files hold samples of CPU time, others of wall time";
    return NULL;
}

bool dw_cli_is_sum(const struct dw_profile *profile)
{
    const char *mixture = find_mixture(profile);
    if (mixture)
        dw_cli_usage("%s: these cannot be added up; give them one at a time", mixture);
    return !mixture;
}

/* "x.dwell#2" is the snapshot 2 of x.dwell, unless there is a file of that name. The name of the
 * file, to be freed. */
static char *split_number(const char *word, uint32_t *number)
{
    const char *hash = strrchr(word, '#');
    struct stat status;
    char *end;
    unsigned long value = hash ? strtoul(hash + 1, &end, 10) : 0;
    if (!hash || end == hash + 1 || *end || value >= DW_HEAP_EACH || !stat(word, &status))
        return strdup(word);
    *number = (uint32_t)value;
    return strndup(word, (size_t)(hash - word));
}

struct dw_profile *dw_cli_read(char **files, int count, unsigned flags, int *status)
{
    struct dw_profile *profile;
    int error = dw_profile_new(&profile);
    if (error) {
        *status = dw_cli_error(files[0], error);
        return NULL;
    }
    bool loaded = false;
    uint32_t heap = flags & DW_CLI_EACH_HEAP ? DW_HEAP_EACH : DW_HEAP_LAST;
    for (int i = 0; i < count; i++) {
        char *file = split_number(files[i], &heap);
        error = file ? dw_cli_read_one(file, flags & ~DW_CLI_EACH_HEAP, profile) : DW_ERR_MEMORY;
        free(file);
        loaded = loaded || !error;
        if (error)
            *status = dw_cli_error(files[i], error);
        if (error && !dw_cli_can_go_on(error)) {
            loaded = false;
            break;
        }
    }
    if (loaded && !dw_cli_is_sum(profile)) {
        *status = DW_EXIT_TROUBLE;
        loaded = false;
    }
    error = loaded ? dw_profile_show_heaps(profile, heap) : 0;
    if (error) {
        *status = error == DW_ERR_ARGUMENT
                      ? dw_cli_usage("%s: there are %u snapshots in it, counted from 0", files[0],
                                     profile->heap_count)
                      : dw_cli_error(files[0], error);
        loaded = false;
    }
    if (loaded)
        return profile;
    dw_profile_free(profile);
    return NULL;
}

int dw_cli_go_to(struct dw_profile *profile, const char *at, const char *file)
{
    uint64_t since_start_ns = 0;
    int status = dw_cli_parse_moment("at", at, &since_start_ns);
    if (status || !at)
        return status;
    bool has_memory = dw_profile_measures(profile) & DW_MEMORY_MASK;
    int error = dw_profile_go_to(profile, since_start_ns);
    if (error != DW_ERR_NO_SAMPLES)
        return error ? dw_cli_error(file, error) : 0;
    if (has_memory)
        fprintf(stderr, "dwell: %s: nothing was recorded up to %s; a moment comes twice a second\n",
                file, at);
    else
        fprintf(stderr, "dwell: %s: holds no memory; record it with 'dwell run --memory'\n", file);
    return DW_EXIT_TROUBLE;
}

/* A column that means something only for calls and regions, or NULL. */
static const char *find_entry_column(const struct dw_lens_options *options)
{
    const struct dw_column *column = options->sort ? dw_column_find(options->sort) : NULL;
    size_t count = options->columns ? options->column_count : 0;
    for (size_t i = 0; (!column || !column->of_entries) && i < count; i++)
        column = dw_column_find(options->columns[i]);
    return column && column->of_entries ? column->id : NULL;
}

/* Columns are those of calls and regions. A recording in which no region was entered is fine. */
int dw_cli_check_contents(const struct dw_profile *profile, const struct dw_lens *lens,
                          const struct dw_lens_options *options, const char *file)
{
    bool shows_lines = lens->shows_lines && !options->columns;
    const char *entry_column = find_entry_column(options);
    if (dw_shows_samples(profile, options->family) && entry_column)
        return dw_cli_usage("%s: holds samples, which begin and end nowhere: no '%s', but "
                            "total, self, samples, percents_of_total",
                            file, entry_column);
    if (dw_timings_are_all(profile) && !lens->shows_timings)
        dw_cli_usage("%s: holds timings, no calls or regions; see them with 'dwell report %s' or "
                     "'dwell export --to json'",
                     file, file);
    else if (dw_lines_are_all(profile) && !shows_lines)
        dw_cli_usage("%s: holds lines, no calls or regions; see them with 'dwell report %s' or "
                     "'dwell export' --to lines, html, csv or json",
                     file, file);
    else
        return 0;
    return DW_EXIT_TROUBLE;
}
