/* SPDX-License-Identifier: MIT
 * Which source files go into the log. To read and pack all that the samples of a program's start
 * meet, a thousand files of libraries, takes longer than to take the samples. */
#include "base/grow.h"
#include "record/ledger.h"

#include <string.h>

#define WANTED UINT8_MAX

/* How often the file was met, or WANTED; NULL when out of memory. */
static uint8_t *met_of(struct dw_ledger *ledger, dw_string_id file)
{
    if (file >= ledger->met_size) {
        uint32_t size = (file + 64) * 2;
        uint8_t *grown = realloc(ledger->met, size);
        if (!grown)
            return NULL;
        memset(grown + ledger->met_size, 0, size - ledger->met_size);
        ledger->met = grown;
        ledger->met_size = size;
    }
    return &ledger->met[file];
}

/* A text for which there is no memory is left out. */
static void want(struct dw_ledger *ledger, dw_string_id file, uint8_t *met)
{
    if (*met == WANTED || DW_GROW(ledger->sources, ledger->source_count, ledger->source_capacity))
        return;
    ledger->sources[ledger->source_count++] = file;
    *met = WANTED;
}

static bool has_source(const struct dw_frame *frame)
{
    return frame->file && (frame->kind == DW_FRAME_FUNCTION || frame->kind == DW_FRAME_REGION);
}

void dw_ledger_want_source(struct dw_ledger *ledger, const struct dw_frame *frame)
{
    uint8_t *met = has_source(frame) ? met_of(ledger, frame->file) : NULL;
    if (met)
        want(ledger, frame->file, met);
}

/* Where Python and pip put libraries. */
static bool is_installed(const char *file)
{
    return strstr(file, "/lib/python3") || strstr(file, "/lib64/python3");
}

void dw_ledger_want_own_source(struct dw_ledger *ledger, const struct dw_frame *frame)
{
    if (!is_installed(ledger->strings.strings[frame->file].bytes))
        dw_ledger_want_source(ledger, frame);
}

static void meet(struct dw_ledger *ledger, dw_string_id file, uint32_t samples)
{
    uint8_t *met = met_of(ledger, file);
    if (!met || *met == WANTED)
        return;
    *met = (uint8_t)(*met + samples);
    if (*met >= DW_SOURCE_ENOUGH)
        want(ledger, file, met);
}

void dw_ledger_meet_sources(struct dw_ledger *ledger, dw_path_id path, uint32_t samples)
{
    const struct dw_path *paths = ledger->paths.paths;
    dw_string_id below = 0; /* functions that call each other are in one file, mostly */
    for (; path != DW_PATH_ROOT; path = paths[path].parent) {
        dw_frame_id id = ledger->places.places[paths[path].step].frame;
        const struct dw_frame *frame = &ledger->frames.frames[id];
        if (has_source(frame) && frame->file != below)
            meet(ledger, below = frame->file, samples);
    }
}

/* Files are read while the tables are free for others; strings stay where they are. */
void dw_ledger_write_sources(struct dw_ledger *ledger, struct dw_sink *sink)
{
    pthread_mutex_lock(&ledger->tables);
    while (sink->sources < ledger->source_count) {
        dw_string_id file = ledger->sources[sink->sources++];
        struct dw_string name = ledger->strings.strings[file];
        pthread_mutex_unlock(&ledger->tables);
        dw_log_write_source_file(&sink->writer, file, name);
        pthread_mutex_lock(&ledger->tables);
    }
    pthread_mutex_unlock(&ledger->tables);
}
