/* SPDX-License-Identifier: MIT
 * A sample is a row of its thread: on its path, under its labels, which its state is part of. */
#include "record/samples.h"

#define TIMED_TARGET (1u << 19) /* bytes of single samples that make a chunk */

static void keep_timed(struct dw_ledger_thread *thread, dw_path_id path, dw_labels_id labels,
                       uint64_t now_ns, uint64_t weight_ns)
{
    if (!thread->timed.size)
        thread->timed_base = thread->timed_last = now_ns;
    uint64_t delta = now_ns > thread->timed_last ? now_ns - thread->timed_last : 0;
    dw_timed_row_put(&thread->timed, delta, path, labels, weight_ns);
    thread->timed_last += delta;
}

/* A row tells of its first sample, and of the one that makes them enough: most rows have no more
 * than a few, and some have a million. */
static void meet_sources(struct dw_ledger *ledger, const struct dw_value_table *values,
                         uint32_t index)
{
    const struct dw_value_row *row = &values->rows[index];
    uint64_t samples = dw_value_get(values, row, DW_SAMPLES);
    if (samples == 1)
        dw_ledger_meet_sources(ledger, row->path, 1);
    else if (samples == DW_SOURCE_ENOUGH)
        dw_ledger_meet_sources(ledger, row->path, DW_SOURCE_ENOUGH - 1);
}

static int add(struct dw_ledger *ledger, uint32_t index, dw_path_id path, uint32_t state,
               dw_labels_id live, uint64_t now_ns, const uint64_t numbers[2])
{
    uint32_t row;
    dw_labels_id labels;
    enum dw_measure weight = ledger->sampling.mode == DW_SAMPLE_WALL ? DW_WALL : DW_CPU;
    int error = dw_ledger_labels(ledger, live, 1 + state, &labels);
    if (error)
        return error;
    pthread_mutex_lock(&ledger->tables);
    struct dw_ledger_thread *thread = &ledger->threads[index];
    error = dw_ledger_add_row(thread, path, labels, DW_MASK(DW_SAMPLES) | DW_MASK(weight), numbers,
                              &row);
    if (!error && numbers[0])
        meet_sources(ledger, &thread->values, row);
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

bool dw_samples_are_none(struct dw_ledger *ledger)
{
    bool are_none = true;
    pthread_mutex_lock(&ledger->tables);
    for (uint32_t i = 0; i < ledger->thread_count; i++)
        are_none &= !ledger->threads[i].values.count;
    pthread_mutex_unlock(&ledger->tables);
    return are_none;
}

int dw_samples_collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    int error = dw_ledger_collect(context, ledger, sink);
    dw_log_write_sampling(&sink->writer, 0, &ledger->sampling);
    return error;
}
