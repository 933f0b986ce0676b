/* SPDX-License-Identifier: MIT
 * The changes of a process are written as a recorder would have: rows with what is new, then the
 * clock. A long recording has fewer moments than it had, so that a file does not grow with time. */
#include "log/writing.h"

#include "base/order.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS_MAX 256u /* of a process */

/* The threads that have changes, those of a process next to each other. */
struct moment_threads {
    uint32_t *first;   /* by process: its first one in `threads`; the next one's is its end */
    uint32_t *threads; /* indexes */
    uint32_t *written; /* by thread: so many of its changes */
    struct dw_room room;
};

static int compare_changes(const void *left, const void *right)
{
    const struct dw_change *a = left, *b = right;
    return dw_ascending(a->row, b->row) ?: dw_ascending(a->measure, b->measure)
           ?: dw_ascending(a->moment, b->moment);
}

/* Changes of one row, sorted: of each measure the last counts. Returns how many they are. */
static uint32_t write_row(struct dw_log_writer *writer, const struct dw_value_table *values,
                          const struct dw_change *changes, uint32_t count)
{
    const struct dw_value_row *row = &values->rows[changes->row];
    uint64_t numbers[DW_MEASURES];
    uint32_t known = 0, used = 0;
    dw_measure_mask mask = 0;
    for (; used < count && changes[used].row == changes->row; used++) {
        known += !(mask & DW_MASK(changes[used].measure));
        mask |= DW_MASK(changes[used].measure);
        numbers[known - 1] = changes[used].value;
    }
    dw_log_rows_add(writer, row->path, row->labels, mask, numbers, NULL);
    return used;
}

static int write_changes(struct dw_log_writer *writer, const struct dw_thread *thread,
                         uint32_t index, uint32_t first, uint32_t end)
{
    struct dw_change *sorted = malloc((end - first) * sizeof *sorted);
    if (!sorted)
        return DW_ERR_MEMORY;
    memcpy(sorted, &thread->changes[first], (end - first) * sizeof *sorted);
    qsort(sorted, end - first, sizeof *sorted, compare_changes);
    dw_log_rows_begin(writer, index);
    for (uint32_t i = 0; i < end - first;)
        i += write_row(writer, &thread->values, &sorted[i], end - first - i);
    dw_log_rows_end(writer);
    free(sorted);
    return 0;
}

/* What the thread has up to the moment, and is not written yet. */
static int write_until(struct dw_log_writer *writer, const struct dw_thread *thread, uint32_t index,
                       uint32_t moment, uint32_t *written)
{
    uint32_t end = *written;
    while (end < thread->change_count && thread->changes[end].moment <= moment)
        end++;
    int error = end > *written ? write_changes(writer, thread, index, *written, end) : 0;
    *written = end;
    return error;
}

/* A process whose rows are copied keeps its ticks. */
static uint64_t tick_at(const struct dw_process *process, uint64_t wall_ns)
{
    const struct dw_clock_pair *first = &process->first_clock, *last = &process->last_clock;
    uint64_t lasted_ns = last->monotonic_ns - first->monotonic_ns;
    if (!process->has_ticks)
        return wall_ns;
    double share = lasted_ns ? (double)(wall_ns - first->wall_ns) / (double)lasted_ns : 1;
    return first->tick + (uint64_t)(share * (double)(last->tick - first->tick));
}

static void write_clock(struct dw_log_writer *writer, const struct dw_process *process,
                        uint32_t index, uint64_t wall_ns)
{
    const struct dw_clock_pair *epoch = &process->first_clock;
    struct dw_clock_pair clock = {.tick = tick_at(process, wall_ns),
                                  .monotonic_ns = epoch->monotonic_ns + (wall_ns - epoch->wall_ns),
                                  .wall_ns = wall_ns};
    dw_log_write_clock(writer, index, &clock);
}

/* The last moment is the end, which the rows themselves have. */
static int save_process(struct dw_log_writer *writer, const struct dw_profile *profile,
                        uint32_t index, const struct moment_threads *of)
{
    const struct dw_process *process = &profile->processes[index];
    uint32_t step = (process->moment_count + MOMENTS_MAX - 1) / MOMENTS_MAX;
    int error = 0;
    for (uint32_t at = step; at < process->moment_count && !error; at += step) {
        for (uint32_t i = of->first[index]; i < of->first[index + 1] && !error; i++) {
            uint32_t thread = of->threads[i];
            error = write_until(writer, &profile->threads[thread], thread, at - 1,
                                &of->written[thread]);
        }
        write_clock(writer, process, index, process->moments_ns[at - 1]);
    }
    return error;
}

/* `first` is counted up to the end of each process, and then down to its begin. */
static void find_threads(const struct dw_profile *profile, uint32_t first_thread,
                         struct moment_threads *of)
{
    for (uint32_t t = first_thread; t < profile->thread_count; t++)
        of->first[profile->threads[t].process] += profile->threads[t].change_count > 0;
    for (uint32_t i = 0; i < profile->process_count; i++)
        of->first[i + 1] += of->first[i];
    for (uint32_t t = profile->thread_count; t-- > first_thread;)
        if (profile->threads[t].change_count)
            of->threads[--of->first[profile->threads[t].process]] = t;
}

int dw_log_save_moments(struct dw_log_writer *writer, const struct dw_profile *profile,
                        uint32_t first_process, uint32_t first_thread)
{
    struct moment_threads of = {0};
    DW_ROOM_GET(&of.room, of.first, profile->process_count + 2u);
    DW_ROOM_GET(&of.room, of.threads, profile->thread_count);
    DW_ROOM_GET(&of.room, of.written, profile->thread_count);
    int error = dw_room_error(&of.room);
    if (!error)
        find_threads(profile, first_thread, &of);
    for (uint32_t i = first_process; i < profile->process_count && !error; i++)
        if (of.first[i] < of.first[i + 1])
            error = save_process(writer, profile, i, &of);
    dw_room_release(&of.room);
    return error;
}
