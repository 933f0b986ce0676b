/* SPDX-License-Identifier: MIT
 * What the parts of the reader share: one stream of the log being read, and how its ids
 * become the profile's. */
#ifndef DW_LOG_READING_H
#define DW_LOG_READING_H

#include "log/chunk.h"
#include "log/reader.h"

struct dw_id_map {
    uint32_t *ids;
    uint32_t count, capacity;
};

/* What the log calls a measure. */
struct dw_log_measure {
    enum dw_measure measure; /* DW_MEASURES: one that this build does not know */
    bool in_ticks;
};

/* What the file may still hold, all its streams together. */
struct dw_read_limits {
    uint64_t unpacked_bytes;
    uint32_t gap_ids; /* ids without a definition, between others */
    uint32_t lines, rows, timed_samples, points, changes;
};

struct dw_reading {
    struct dw_profile *profile;
    unsigned flags;
    struct dw_id_map strings, frames, processes, threads, modules, places, stacks, labels;
    uint32_t paths; /* index into profile->path_maps */
    dw_string_id lost_string;
    dw_frame_id lost_frame;
    dw_path_id lost_path;
    dw_place_id lost_place;
    dw_path_id next_path; /* the likely next one: logs of one program have the same order */
    struct dw_log_measure measures[DW_MEASURES_MAX];
    dw_measure_mask own_measures; /* those whose numbers are this build's, too */
    dw_measure_mask in_ticks;     /* what the stream has in ticks */
    bool copies;                  /* rows: copied_rows.h */
    dw_measure_mask counted_mask; /* of the last row, and how many measures that are */
    uint32_t counted;
    struct dw_buffer scratch, combined;   /* rows that are encoded anew */
    bool has_ticked_samples;              /* its single samples are on the clock of ticks */
    bool has_values;                      /* it has rows of the kind that older versions wrote */
    uint32_t first_series;                /* of the stream */
    struct dw_map series;                 /* of the stream: its series */
    uint32_t first_process, first_thread; /* of the stream, and of the log */
    uint32_t log_process, log_thread;
    struct dw_map uuids;          /* of the stream's processes */
    struct dw_line_table lines;   /* as the log has them last */
    struct dw_heap_reading *heap; /* the picture whose parts are read now, or NULL */
    struct dw_read_limits *limits;
    struct ZSTD_DCtx_s *decompressor;
    uint8_t *raw;
};

/* Sets map[id], filling a gap with `filler`. A log has gaps where chunks were lost; one that is
 * larger than those is DW_ERR_DAMAGED. */
int dw_id_map_set(struct dw_reading *reading, struct dw_id_map *map, uint32_t id, uint32_t value,
                  uint32_t filler);

static inline uint32_t dw_id_map_get(const struct dw_id_map *map, uint32_t id, uint32_t fallback)
{
    return id < map->count ? map->ids[id] : fallback;
}

/* Only the first stream of a log has moments: recorders that have them write one. */
static inline bool dw_reading_has_moments(const struct dw_reading *reading)
{
    return reading->flags & DW_READ_MOMENTS && reading->first_process == reading->log_process;
}

/* The process or thread of the id that comes next. Never absent: what refers to a lost one
 * still counts, for an unknown one. */
int dw_reading_process(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t *index);
int dw_reading_thread(struct dw_reading *reading, struct dw_cursor *cursor, uint32_t *index);

/* The paths of the log, and the path or name that comes next. */
struct dw_path_map *dw_reading_paths(struct dw_reading *reading);
dw_path_id dw_reading_path(struct dw_reading *reading, struct dw_cursor *cursor);
int dw_reading_name(struct dw_reading *reading, struct dw_cursor *cursor, dw_string_id *id);
/* Adds the properties that come next to those in the list. */
int dw_reading_properties(struct dw_reading *reading, struct dw_cursor *cursor,
                          struct dw_property **properties, uint32_t *property_count,
                          uint32_t *capacity);

typedef int dw_read_chunk(struct dw_reading *reading, struct dw_cursor *cursor);

/* read_definitions.c */
dw_read_chunk dw_read_process, dw_read_properties, dw_read_clock, dw_read_end, dw_read_strings,
    dw_read_frames, dw_read_paths, dw_read_thread, dw_read_source;

/* read_numbers.c */
dw_read_chunk dw_read_values, dw_read_lines, dw_read_timing;

/* read_samples.c */
dw_read_chunk dw_read_modules, dw_read_places, dw_read_stacks, dw_read_samples, dw_read_sampling,
    dw_read_timed_samples;

/* read_rows.c */
dw_read_chunk dw_read_measures, dw_read_labels, dw_read_tree, dw_read_rows, dw_read_timed_rows;
/* Reads the sum of squares and the histogram that come next. */
int dw_read_spread(struct dw_cursor *cursor, struct dw_spread *spread);
/* Adds a single sample to a thread. */
int dw_reading_timed(struct dw_reading *reading, uint32_t thread,
                     const struct dw_timed_sample *sample);
/* The row of that key, which may be known to be new; DW_ERR_TOO_LARGE when the file has too many.
 */
int dw_reading_row(struct dw_reading *reading, uint32_t thread, dw_path_id path,
                   dw_labels_id labels, bool is_new, uint32_t *row);
/* The same by ids of the log. */
int dw_reading_logged_row(struct dw_reading *reading, uint32_t thread, uint32_t path,
                          uint64_t labels, uint32_t *row);
/* Keeps what is alive now in a row, for moments: `before` is by measure, `numbers` are of the mask.
 */
int dw_reading_note_alive(struct dw_reading *reading, uint32_t thread, uint32_t row,
                          dw_measure_mask mask, const uint64_t *before, const uint64_t *numbers);

/* read_series.c */
dw_read_chunk dw_read_series;

/* read_heap.c */
dw_read_chunk dw_read_heap;
/* After the last chunk: adds the picture at hand to the profile if all its parts were read. */
int dw_reading_end_heap(struct dw_reading *reading);

/* read_settle.c: at the end the clock's rate is known, and ticks become nanoseconds. */
void dw_reading_settle(struct dw_reading *reading);

/* read_streams.c: the processes and threads that an earlier stream of the log has too become
 * one. 0 or an error. */
int dw_reading_join(struct dw_reading *reading);

#endif
