/* SPDX-License-Identifier: MIT
 * A recording of samples: sums by thread, stack and state, written to a log of its own. Used
 * by one thread at a time, needs no interpreter: the sampler in the process and the one that
 * watches another process both feed it. Times are nanoseconds of the monotonic clock. */
#ifndef DW_RECORD_SAMPLE_LOG_H
#define DW_RECORD_SAMPLE_LOG_H

#include "log/writer.h"
#include "model/sample.h"

struct dw_sample_thread;

struct dw_sample_log {
    struct dw_log_writer writer;
    int fd; /* -1: in memory */
    bool timeline;
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_place_table places;
    struct dw_path_tree stacks;
    struct dw_module *modules;
    uint32_t module_count, module_capacity;
    struct dw_sample_thread *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t free_threads; /* among these */
    uint32_t next_thread;  /* how the log calls the next one */
    struct dw_process process;
    struct dw_sampling sampling; /* the feeder counts in it; every flush writes it */
    const struct dw_source_reader *source_reader; /* NULL: sources are files of this process */
    uint32_t strings_written, frames_written, places_written, stacks_written, modules_written;
};

/* `path` NULL: in memory. With `timeline` every sample is kept beside the sums. 0 or an error;
 * release it in any case. */
int dw_sample_log_open(struct dw_sample_log *log, const char *path, bool timeline);
/* Before the first flush, which is the first to write: from memory to a file. */
int dw_sample_log_move(struct dw_sample_log *log, const char *path);
void dw_sample_log_release(struct dw_sample_log *log);
/* When the program that is sampled is another process; borrowed. */
void dw_sample_log_read_sources_by(struct dw_sample_log *log,
                                   const struct dw_source_reader *reader);

/* What the log says of the process that is sampled; before the first flush. The process is
 * this one unless told otherwise. */
void dw_sample_log_of(struct dw_sample_log *log, uint64_t pid);
int dw_sample_log_describe(struct dw_sample_log *log, const char *key, const char *value);

/* Interning. Texts are bytes of any kind. */
int dw_sample_log_string(struct dw_sample_log *log, const void *bytes, size_t size,
                         dw_string_id *id);
int dw_sample_log_frame(struct dw_sample_log *log, const struct dw_frame *frame, dw_frame_id *id);
int dw_sample_log_place(struct dw_sample_log *log, const struct dw_place *place, dw_place_id *id);
int dw_sample_log_stack(struct dw_sample_log *log, dw_path_id parent, dw_place_id place,
                        dw_path_id *id);
/* Adds a module and gives what places call it: 1 + index. */
int dw_sample_log_module(struct dw_sample_log *log, const struct dw_module *module, uint32_t *id);

/* A thread that is seen for the first time, or that has another name now. */
int dw_sample_log_thread(struct dw_sample_log *log, uint64_t tid, uint32_t *thread);
/* It has ended, and nothing is added to it any more: once it is in the file, its number is another
 * one's. */
void dw_sample_log_end_thread(struct dw_sample_log *log, uint32_t thread);
int dw_sample_log_name_thread(struct dw_sample_log *log, uint32_t thread, const char *name,
                              size_t size);
/* Its name, and its id. */
struct dw_string dw_sample_log_thread_name(const struct dw_sample_log *log, uint32_t thread,
                                           uint64_t *tid);
/* `now_ns` is when the time that the sample stands for ended. */
int dw_sample_log_add(struct dw_sample_log *log, uint32_t thread, dw_path_id stack, uint32_t state,
                      uint64_t now_ns, uint64_t weight_ns);
/* The same without a count: time of a sample that stands on two stacks and is counted on the
 * other one. */
int dw_sample_log_add_time(struct dw_sample_log *log, uint32_t thread, dw_path_id stack,
                           uint32_t state, uint64_t now_ns, uint64_t weight_ns);

bool dw_sample_log_is_empty(const struct dw_sample_log *log);
/* Writes what is new; the last time says that the log is complete. The writer keeps errors. */
int dw_sample_log_flush(struct dw_sample_log *log, bool last);

#endif
