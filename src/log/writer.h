/* SPDX-License-Identifier: MIT
 * Appends chunks to a log, in a file or in memory. Definitions (strings, frames,
 * paths, threads) are written before anything that uses them. Not thread-safe. */
#ifndef DW_LOG_WRITER_H
#define DW_LOG_WRITER_H

#include "log/chunk.h"
#include "log/redaction.h"
#include "model/profile.h"

struct dw_file;
struct dw_heap;

/* How the text of a source is had when it is somebody else's: at most so many bytes of the file
 * that the string names, or an error. */
struct dw_source_reader {
    int (*read)(void *context, dw_string_id name, size_t most, struct dw_file *file);
    void *context;
};

struct dw_log_writer {
    int fd;                 /* -1: into `memory` */
    uint64_t device, inode; /* of the file that the fd was opened for */
    uint16_t stream;        /* which of the file's writers it is: 0, since there is only one */
    struct dw_buffer memory;
    uint32_t sequence;
    int error; /* sticky */
    int saved_errno;
    void *compressor;
    struct dw_buffer payload; /* the chunk being encoded */
    struct dw_buffer frame;   /* the chunk as stored */
    uint32_t values_thread;   /* of the metrics being added, and how many there are */
    uint32_t values_count;
    const struct dw_source_reader *source_reader; /* borrowed; NULL: files of this process */
    uint64_t bytes;                               /* written so far */
    uint32_t heaps;                               /* pictures of heaps so far */
};

/* The fd is borrowed; -1 writes to memory. */
int dw_log_writer_init(struct dw_log_writer *writer, int fd);
/* The same with a new file of that name; NULL: in memory. */
int dw_log_writer_create(struct dw_log_writer *writer, const char *path);
/* Makes a file of a name that nobody has given us. Follows no link; a file that is there already
 * must be our own, and a log or empty. 0, or DW_ERR_IO. Writers do so themselves for names with the
 * id of their process. */
int dw_log_claim(const char *path);
/* Whether a new log may have that name: files that hold something else are left alone. Else errno
 * says so. */
bool dw_log_may_replace(const char *path);
void dw_log_writer_release(struct dw_log_writer *writer);
/* Closes the fd, unless that is no longer the log's: programs close files that they do not know. */
int dw_log_writer_close(struct dw_log_writer *writer);

/* The first trouble, with its errno; 0 when all went well. */
int dw_log_writer_error(const struct dw_log_writer *writer);

/* Each encodes and appends one or more chunks; trouble is kept, see above. */
void dw_log_write_process(struct dw_log_writer *writer, uint32_t id,
                          const struct dw_process *process, const struct dw_string_table *strings);
/* What is said of it later, or otherwise. */
void dw_log_write_properties(struct dw_log_writer *writer, uint32_t id,
                             const struct dw_process *process,
                             const struct dw_string_table *strings);
void dw_log_write_clock(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_clock_pair *now);
/* The entries from `first` to the end of the table. */
void dw_log_write_strings(struct dw_log_writer *writer, const struct dw_string_table *strings,
                          uint32_t first);
void dw_log_write_frames(struct dw_log_writer *writer, const struct dw_frame_table *frames,
                         uint32_t first);
void dw_log_write_thread(struct dw_log_writer *writer, uint32_t id, uint32_t process, uint64_t tid,
                         struct dw_string name);
void dw_log_write_source(struct dw_log_writer *writer, struct dw_string file,
                         struct dw_string text);
/* The same with the text of that file, unless it cannot be read or is to be left out. */
void dw_log_write_source_file(struct dw_log_writer *writer, dw_string_id file,
                              struct dw_string name);
/* The rows from `first` to the end of the table; later ones replace earlier ones of the same key.
 */
void dw_log_write_lines(struct dw_log_writer *writer, uint32_t process,
                        const struct dw_line_table *lines, uint32_t first);
void dw_log_write_timing(struct dw_log_writer *writer, const struct dw_timing *timing,
                         const struct dw_string_table *strings);
/* The entries from `first` on, as the tables above. */
void dw_log_write_modules(struct dw_log_writer *writer, uint32_t process,
                          const struct dw_module *modules, uint32_t count, uint32_t first);
void dw_log_write_places(struct dw_log_writer *writer, const struct dw_place_table *places,
                         uint32_t first);
void dw_log_write_sampling(struct dw_log_writer *writer, uint32_t process,
                           const struct dw_sampling *sampling);
void dw_log_write_end(struct dw_log_writer *writer, uint32_t process, uint64_t dropped,
                      bool is_reported);

/* Says which measures the rows of this log have, and which of them are in ticks; before the first
 * rows. */
void dw_log_write_measures(struct dw_log_writer *writer, dw_measure_mask in_ticks);
/* The entries from `first` on, as the tables above. */
void dw_log_write_labels(struct dw_log_writer *writer, const struct dw_label_table *labels,
                         uint32_t first);
void dw_log_write_tree(struct dw_log_writer *writer, const struct dw_path_tree *paths,
                       uint32_t first);
/* Rows of one thread: begin, add any number, end. A row replaces what an earlier one of the
 * same path and labels said of the same measures. Of open entries DW_OPEN_TOTAL is the sum of their
 * starts, and no part of DW_TOTAL: while nothing else happens the numbers stay the same, and the
 * log need not be told again. The histogram of the spread (NULL: none) needs only the buckets that
 * changed since it was told last.
 */
void dw_log_rows_begin(struct dw_log_writer *writer, uint32_t thread);
void dw_log_rows_add(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                     dw_measure_mask mask, const uint64_t *numbers, const struct dw_spread *spread);
/* The same with numbers, and a spread after them or not, as a row of another log has them. */
void dw_log_rows_copy(struct dw_log_writer *writer, dw_path_id path, dw_labels_id labels,
                      dw_measure_mask mask, bool has_spread, const uint8_t *bytes, size_t size);
void dw_log_rows_end(struct dw_log_writer *writer);
/* Single samples, put one after the other from `base_ns` on, on the monotonic clock. */
void dw_timed_row_put(struct dw_buffer *bytes, uint64_t delta_ns, dw_path_id path,
                      dw_labels_id labels, uint64_t weight_ns);
void dw_log_write_timed_rows(struct dw_log_writer *writer, uint32_t thread, uint64_t base_ns,
                             const struct dw_buffer *bytes);

/* Readings of gauges, put one after the other: microseconds since the one before, or since the base
 * of the chunk, and by how many quanta each gauge has changed, first of all from 0. */
void dw_reading_put(struct dw_buffer *readings, uint64_t delta_us, const int64_t *deltas,
                    size_t count);
/* `base_ns` is on the monotonic clock; `thread` is 1 + the id of one, 0: of the process. */
void dw_log_write_series(struct dw_log_writer *writer, uint32_t process, uint32_t thread,
                         const struct dw_gauge *gauges, size_t count, uint64_t base_ns,
                         const struct dw_buffer *readings);
/* Series of one process or thread that have points at the same times. */
void dw_log_save_series(struct dw_log_writer *writer, const struct dw_profile *profile,
                        const struct dw_series *series, size_t count);

/* A picture of a heap, as it was at a time of the monotonic clock. The reason says why it was
 * taken.
 */
void dw_log_write_heap(struct dw_log_writer *writer, uint32_t process, uint64_t monotonic_ns,
                       struct dw_string reason, const struct dw_heap *heap);

/* A block of encoded events, starting with `top` open. */
void dw_log_write_events(struct dw_log_writer *writer, uint32_t thread, uint32_t sequence,
                         uint64_t base_tick, dw_path_id top, const uint8_t *events, size_t size);

#endif
