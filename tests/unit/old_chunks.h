/* SPDX-License-Identifier: MIT
 * Chunks that only older versions wrote, and that are still read. */
#ifndef DW_TESTS_OLD_CHUNKS_H
#define DW_TESTS_OLD_CHUNKS_H

#include "log/writer.h"
#include "model/metric.h"

void dw_log_write_paths(struct dw_log_writer *writer, const struct dw_path_tree *paths,
                        uint32_t first);
void dw_log_write_stacks(struct dw_log_writer *writer, const struct dw_path_tree *stacks,
                         uint32_t first);
/* Samples of one thread on one stack in one state. */
struct dw_sample_sum {
    dw_path_id stack;
    uint32_t state;
    uint64_t count, weight_ns;
};
struct dw_sample_sums {
    struct dw_sample_sum *samples;
    uint32_t count, capacity;
    struct dw_map index;
};
/* `is_new` tells which rows are written; NULL: all. */
void dw_log_write_samples(struct dw_log_writer *writer, uint32_t thread,
                          const struct dw_sample_sums *samples, const bool *is_new);
/* Single samples, encoded by dw_timed_sample_put one after the other from `base_tick` on. */
void dw_timed_sample_put(struct dw_buffer *bytes, uint64_t delta_ticks, dw_path_id stack,
                         uint32_t state, uint64_t weight_ns);
void dw_log_write_timed_samples(struct dw_log_writer *writer, uint32_t thread, uint64_t base_tick,
                                const struct dw_buffer *bytes);
/* Metrics of one thread: begin, add any number, end. Times are ticks, and the open
 * entries are counted up to the tick `as_of`. The histogram needs only the buckets
 * that changed since the log was told last. */
void dw_log_values_begin(struct dw_log_writer *writer, uint32_t thread);
void dw_log_values_add(struct dw_log_writer *writer, dw_path_id path,
                       const struct dw_metric *metric, uint64_t as_of);
void dw_log_values_end(struct dw_log_writer *writer);

#endif
