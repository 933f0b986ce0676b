/* SPDX-License-Identifier: MIT
 * Times are kept for each thread, stack and state, and rows are summed from them at each update, so
 * that another view needs no new samples. Recent time is a sum that fades. */
#include "cli/top/top_table.h"

#include "base/intern.h"
#include "base/order.h"
#include "lens/view/functions.h"

#include <math.h>

#define FADE_SECONDS 2.0

struct dw_top_cell {
    uint32_t thread, state;
    dw_path_id stack;
    struct dw_top_time time;
};

void dw_top_table_init(struct dw_top_table *table, struct dw_ledger *log, uint64_t now_ns)
{
    *table = (struct dw_top_table){.log = log, .faded_ns = now_ns};
}

void dw_top_table_release(struct dw_top_table *table)
{
    free(table->cells);
    free(table->rows);
    dw_map_release(&table->row_index);
    dw_map_release(&table->cell_index);
    *table = (struct dw_top_table){0};
}

void dw_top_table_reset(struct dw_top_table *table, uint64_t now_ns)
{
    dw_map_release(&table->cell_index);
    table->cell_count = 0;
    table->elapsed = table->gil = (struct dw_top_time){0};
    table->faded_ns = now_ns;
}

static struct dw_top_cell *find_cell(struct dw_top_table *table, const struct dw_top_cell *key)
{
    uint32_t id;
    int error = DW_INTERN(table->cells, table->cell_count, table->cell_capacity, table->cell_index,
                          offsetof(struct dw_top_cell, time), key, &id);
    return error ? NULL : &table->cells[id];
}

static void add_time(struct dw_top_time *to, double seconds)
{
    to->all += seconds;
    to->recent += seconds;
}

void dw_top_table_add(void *context, uint32_t thread, dw_path_id stack, uint32_t state,
                      uint64_t weight_ns)
{
    struct dw_top_table *table = context;
    double seconds = (double)weight_ns / 1e9;
    struct dw_top_cell *cell =
        find_cell(table, &(struct dw_top_cell){.thread = thread, .state = state, .stack = stack});
    if (!cell) {
        table->failed = true;
        return;
    }
    add_time(&cell->time, seconds);
    if (state & DW_SAMPLE_HOLDS_GIL)
        add_time(&table->gil, seconds);
}

static void fade(struct dw_top_table *table, uint64_t now_ns)
{
    double seconds = (double)(now_ns - table->faded_ns) / 1e9;
    double kept = exp(-seconds / FADE_SECONDS);
    add_time(&table->elapsed, seconds);
    table->elapsed.recent *= kept;
    table->gil.recent *= kept;
    for (uint32_t i = 0; i < table->cell_count; i++)
        table->cells[i].time.recent *= kept;
    table->faded_ns = now_ns;
}

static bool is_shown(const struct dw_top_view *view, uint32_t state)
{
    uint32_t kind = state & DW_SAMPLE_STATE_MASK;
    if (view->only_gil)
        return state & DW_SAMPLE_HOLDS_GIL;
    return view->with_waiting || (kind != DW_SAMPLE_WAITING && kind != DW_SAMPLE_GIL);
}

/* The row of a thread, of a frame, or of a line. */
static struct dw_top_row *find_row(struct dw_top_table *table, uint32_t of, uint32_t line)
{
    struct dw_top_row row = {.of = of, .line = line};
    uint32_t id;
    table->failed |= DW_INTERN(table->rows, table->row_count, table->row_capacity, table->row_index,
                               offsetof(struct dw_top_row, own), &row, &id) != 0;
    return table->failed ? NULL : &table->rows[id];
}

static void sum(struct dw_top_time *to, const struct dw_top_time *time)
{
    to->all += time->all;
    to->recent += time->recent;
}

static void add_stack(struct dw_top_table *table, const struct dw_top_view *view, uint32_t index)
{
    const struct dw_top_cell *cell = &table->cells[index];
    const struct dw_path *paths = table->log->paths.paths;
    for (dw_path_id path = cell->stack; path; path = paths[path].parent) {
        const struct dw_place *place = &table->log->places.places[paths[path].step];
        struct dw_top_row *row =
            find_row(table, place->frame, view->by == DW_TOP_LINES ? place->line : 0);
        if (!row)
            return;
        if (path == cell->stack)
            sum(&row->own, &cell->time);
        if (row->last_cell != index + 1)
            sum(&row->total, &cell->time);
        row->last_cell = index + 1;
    }
}

/* All threads are shown, with the share of their time that they run, or hold the GIL. */
static void add_thread(struct dw_top_table *table, const struct dw_top_view *view,
                       const struct dw_top_cell *cell)
{
    struct dw_top_view running = {.only_gil = view->only_gil};
    struct dw_top_row *row = find_row(table, cell->thread, 0);
    if (!row)
        return;
    if (is_shown(&running, cell->state))
        sum(&row->own, &cell->time);
    sum(&row->total, &cell->time);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct dw_top_view *view = context;
    const struct dw_top_row *one = a, *other = b;
    const struct dw_top_time *x = view->by_total ? &one->total : &one->own;
    const struct dw_top_time *y = view->by_total ? &other->total : &other->own;
    return dw_descending(floor(x->recent * 200), floor(y->recent * 200))
           ?: dw_descending(x->all, y->all) ?: dw_descending(one->total.all, other->total.all);
}

void dw_top_table_update(struct dw_top_table *table, const struct dw_top_view *view,
                         uint64_t now_ns)
{
    fade(table, now_ns);
    table->row_count = 0;
    dw_map_release(&table->row_index);
    for (uint32_t i = 0; i < table->cell_count; i++) {
        const struct dw_top_cell *cell = &table->cells[i];
        if (view->by == DW_TOP_THREADS)
            add_thread(table, view, cell);
        else if (is_shown(view, cell->state))
            add_stack(table, view, i);
    }
    struct dw_top_view order = *view;
    if (table->row_count)
        qsort_r(table->rows, table->row_count, sizeof *table->rows, compare_rows, &order);
}

static void put_place(const struct dw_top_table *table, const struct dw_top_view *view,
                      const struct dw_top_row *row, struct dw_out *out)
{
    const struct dw_ledger *log = table->log;
    const struct dw_frame *frame = &log->frames.frames[row->of];
    struct dw_string name = log->strings.strings[frame->name];
    struct dw_string file = dw_file_without_dirs(log->strings.strings[frame->file]);
    uint32_t line = view->by == DW_TOP_LINES ? row->line : frame->line;
    dw_out_printable(out, name.bytes, name.size);
    dw_out_text(out, " (");
    dw_out_printable(out, file.bytes, file.size);
    if (line)
        dw_out_printf(out, ":%u", line);
    dw_out_char(out, ')');
}

void dw_top_row_put_name(const struct dw_top_table *table, const struct dw_top_view *view,
                         const struct dw_top_row *row, struct dw_out *out)
{
    if (view->by != DW_TOP_THREADS) {
        put_place(table, view, row, out);
        return;
    }
    uint64_t id;
    struct dw_string name = dw_ledger_thread_name(table->log, row->of, &id);
    dw_out_printf(out, "thread %llu ", (unsigned long long)id);
    dw_out_printable(out, name.bytes, name.size);
}
