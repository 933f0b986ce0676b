/* SPDX-License-Identifier: MIT
 * A sample is a row of its thread: on its path, under its labels, which its state is part of. */
#include "record/samples.h"

#include "base/grow.h"

#include <string.h>

#define TIMED_TARGET (1u << 19) /* bytes of single samples that make a chunk */

/* Marks the row as one that the log has to be told. */
static int mark_new(struct dw_ledger_thread *thread, uint32_t row)
{
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

static void keep_timed(struct dw_ledger_thread *thread, dw_path_id path, dw_labels_id labels,
                       uint64_t now_ns, uint64_t weight_ns)
{
    if (!thread->timed.size)
        thread->timed_base = thread->timed_last = now_ns;
    uint64_t delta = now_ns > thread->timed_last ? now_ns - thread->timed_last : 0;
    dw_timed_row_put(&thread->timed, delta, path, labels, weight_ns);
    thread->timed_last += delta;
}

/* Under `tables`. */
static int add_row(struct dw_ledger_thread *thread, dw_path_id path, dw_labels_id labels,
                   dw_measure_mask mask, const uint64_t *numbers)
{
    uint32_t row;
    int error = dw_value_row_get(&thread->values, path, labels, &row);
    if (!error)
        error = dw_value_row_add(&thread->values, row, mask, numbers);
    return error ? error : mark_new(thread, row);
}

static int add(struct dw_ledger *ledger, uint32_t index, dw_path_id path, uint32_t state,
               dw_labels_id live, uint64_t now_ns, const uint64_t numbers[2])
{
    dw_labels_id labels;
    enum dw_measure weight = ledger->sampling.mode == DW_SAMPLE_WALL ? DW_WALL : DW_CPU;
    int error = dw_ledger_labels(ledger, live, 1 + state, &labels);
    if (error)
        return error;
    pthread_mutex_lock(&ledger->tables);
    struct dw_ledger_thread *thread = &ledger->threads[index];
    error = add_row(thread, path, labels, DW_MASK(DW_SAMPLES) | DW_MASK(weight), numbers);
    if (!error && ledger->timeline)
        keep_timed(thread, path, labels, now_ns, numbers[1]);
    bool is_full = thread->timed.size >= TIMED_TARGET;
    pthread_mutex_unlock(&ledger->tables);
    if (is_full)
        dw_ledger_flush(ledger, dw_samples_collect, NULL, false);
    return error;
}

int dw_samples_add(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                   dw_labels_id labels, uint64_t now_ns, uint64_t weight_ns)
{
    return add(ledger, thread, path, state, labels, now_ns, (uint64_t[]){1, weight_ns});
}

int dw_samples_add_time(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                        dw_labels_id labels, uint64_t now_ns, uint64_t weight_ns)
{
    return add(ledger, thread, path, state, labels, now_ns, (uint64_t[]){0, weight_ns});
}

int dw_ledger_add(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                  dw_labels_id live, dw_measure_mask mask, const uint64_t *numbers)
{
    dw_labels_id labels;
    int error = dw_ledger_labels(ledger, live, state, &labels);
    if (error)
        return error;
    pthread_mutex_lock(&ledger->tables);
    error = add_row(&ledger->threads[thread], path, labels, mask, numbers);
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

bool dw_samples_are_none(struct dw_ledger *ledger)
{
    bool are_none = true;
    pthread_mutex_lock(&ledger->tables);
    for (uint32_t i = 0; i < ledger->thread_count; i++)
        are_none &= !ledger->threads[i].values.count;
    pthread_mutex_unlock(&ledger->tables);
    return are_none;
}

static void write_rows(struct dw_ledger_thread *thread, struct dw_log_writer *writer)
{
    const struct dw_value_table *values = &thread->values;
    dw_log_rows_begin(writer, thread->id);
    for (uint32_t i = 0; i < values->count && thread->has_news; i++) {
        const struct dw_value_row *row = &values->rows[i];
        if (thread->is_new[i])
            dw_log_rows_add(writer, row->path, row->labels, row->mask, &values->numbers[row->first],
                            NULL);
    }
    dw_log_rows_end(writer);
    if (thread->has_news)
        memset(thread->is_new, 0, thread->is_new_capacity);
    thread->has_news = false;
}

static void write_thread(struct dw_ledger_thread *thread, struct dw_log_writer *writer)
{
    write_rows(thread, writer);
    if (thread->timed.size)
        dw_log_write_timed_rows(writer, thread->id, thread->timed_base, &thread->timed);
    dw_buffer_restart(&thread->timed);
}

int dw_ledger_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    (void)context;
    dw_ledger_define(ledger, sink);
    pthread_mutex_lock(&ledger->tables);
    for (uint32_t i = 0; i < ledger->thread_count; i++)
        write_thread(&ledger->threads[i], &sink->writer);
    pthread_mutex_unlock(&ledger->tables);
    return 0;
}

int dw_samples_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    int error = dw_ledger_collect(context, ledger, sink);
    dw_log_write_sampling(&sink->writer, 0, &ledger->sampling);
    return error;
}
