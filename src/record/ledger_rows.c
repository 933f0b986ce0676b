/* SPDX-License-Identifier: MIT
 * Rows of the threads of a ledger: what probes add up there, and which of it is new to the log. */
#include "base/grow.h"
#include "record/ledger.h"

#include <string.h>

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

int dw_ledger_add_row(struct dw_ledger_thread *thread, dw_path_id path, dw_labels_id labels,
                      dw_measure_mask mask, const uint64_t *numbers, uint32_t *row)
{
    int error = dw_value_row_get(&thread->values, path, labels, row);
    if (!error)
        error = dw_value_row_add(&thread->values, *row, mask, numbers);
    return error ? error : mark_new(thread, *row);
}

int dw_ledger_add(struct dw_ledger *ledger, uint32_t thread, dw_path_id path, uint32_t state,
                  dw_labels_id live, dw_measure_mask mask, const uint64_t *numbers)
{
    uint32_t row;
    dw_labels_id labels;
    int error = dw_ledger_labels(ledger, live, state, &labels);
    if (error)
        return error;
    pthread_mutex_lock(&ledger->tables);
    error = dw_ledger_add_row(&ledger->threads[thread], path, labels, mask, numbers, &row);
    pthread_mutex_unlock(&ledger->tables);
    return error;
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
