/* SPDX-License-Identifier: MIT
 * A flush writes the rows that changed. */
#include "probe/line/line_log.h"

#include "base/error.h"
#include "probe/ledger_python.h"
#include "record/probes.h"

#include <string.h>

static struct dw_line_profile *recorded; /* the one that has a log */

static uint64_t scaled(uint64_t ticks, double tick_ns)
{
    return (uint64_t)((double)ticks * tick_ns + 0.5);
}

static int add_row(struct dw_line_table *rows, const struct dw_line_count *count,
                   dw_frame_id function, uint32_t number, double tick_ns)
{
    struct dw_line row = {
        .function = function,
        .line = number,
        .values = {[DW_LINE_HITS] = count->hits,
                   [DW_LINE_TIME] = scaled(count->time, tick_ns),
                   [DW_LINE_SELF] = scaled(count->self, tick_ns),
                   [DW_LINE_INCLUSIVE] = scaled(count->inclusive, tick_ns),
                   [DW_LINE_SUSPENDED] = scaled(count->suspended, tick_ns)},
    };
    return dw_line_add(rows, &row);
}

static int add_edge(struct dw_ledger *log, struct dw_line_table *rows,
                    const struct dw_line_edge *edge, struct dw_line row, double tick_ns)
{
    const struct dw_line_callee *callee = edge->callee;
    const PyCodeObject *code = callee->name ? NULL : (const PyCodeObject *)callee->owner;
    int error = dw_ledger_function(log, code ? code->co_qualname : callee->name, code, &row.callee);
    row.values[DW_LINE_HITS] = edge->calls;
    row.values[DW_LINE_TIME] = scaled(edge->time, tick_ns);
    return error ? error : dw_line_add(rows, &row);
}

static int add_line(struct dw_ledger *log, struct dw_line_table *rows,
                    const struct dw_line_count *count, dw_frame_id function, uint32_t number,
                    double tick_ns)
{
    struct dw_line row = {.function = function, .line = number};
    int error = add_row(rows, count, function, number, tick_ns);
    for (const struct dw_line_edge *edge = count->edges; edge && !error; edge = edge->next)
        error = add_edge(log, rows, edge, row, tick_ns);
    return error;
}

static int add_function(struct dw_ledger *log, struct dw_line_table *rows,
                        const struct dw_line_code *function, double tick_ns)
{
    struct dw_line whole = {.values = {[DW_LINE_HITS] = function->calls}};
    int error =
        dw_ledger_function(log, function->code->co_qualname, function->code, &whole.function);
    for (uint32_t i = 0; i < function->line_count && !error; i++) {
        const struct dw_line_count *count = &function->lines[i];
        whole.values[DW_LINE_TIME] += scaled(count->time, tick_ns);
        if (count->has_code || count->has_inner_code)
            error = add_line(log, rows, count, whole.function, function->first_line + i, tick_ns);
    }
    return error ? error : dw_line_add(rows, &whole);
}

static int read_rows(struct dw_ledger *log, struct dw_line_profile *profile,
                     struct dw_line_table *rows)
{
    int error = 0;
    double tick_ns = dw_lines_tick_ns(profile);
    dw_lines_settle(profile);
    for (uint32_t i = 0; i < profile->function_count && !error; i++)
        if (profile->functions[i]->lines)
            error = add_function(log, rows, profile->functions[i], tick_ns);
    return error;
}

/* Moves the rows that differ from the log's to the front of the table. */
static int keep_news(struct dw_line_table *rows, struct dw_line_table *written)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct dw_line *row = &rows->lines[i];
        uint32_t known = written->count;
        struct dw_line *old = dw_line_get(written, row->function, row->line, row->callee);
        if (!old)
            return DW_ERR_MEMORY;
        if (written->count == known && !memcmp(old->values, row->values, sizeof old->values))
            continue;
        memcpy(old->values, row->values, sizeof old->values);
        rows->lines[kept++] = *row;
    }
    rows->count = kept;
    return 0;
}

static int collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    struct dw_line_profile *profile = context;
    struct dw_line_table rows = {0};
    int error = read_rows(ledger, profile, &rows);
    if (!error)
        error = keep_news(&rows, &profile->log->written);
    if (!error) {
        dw_ledger_define(ledger, sink);
        dw_log_write_lines(&sink->writer, 0, &rows, 0);
    }
    dw_line_table_release(&rows);
    return error;
}

static bool has_hits(const struct dw_line_profile *profile)
{
    for (uint32_t i = 0; i < profile->function_count; i++) {
        const struct dw_line_code *function = profile->functions[i];
        for (uint32_t line = 0; function->lines && line < function->line_count; line++)
            if (function->lines[line].hits)
                return true;
    }
    return false;
}

/* A forked child makes its file once it has something to tell. */
void dw_lines_flush(struct dw_line_profile *profile, bool last)
{
    if (!profile->log)
        return;
    uint64_t before = dw_tick();
    struct dw_ledger *ledger = profile->log->ledger;
    int error = dw_ledger_is_late(ledger) && !has_hits(profile) ? 0
                : last ? dw_ledger_flush_end(ledger, collect, profile)
                       : dw_ledger_flush(ledger, collect, profile, false);
    if (error)
        dw_line_log_stop(profile);
    profile->flush_at = dw_flush_next(before, dw_lines_tick_ns(profile));
    dw_lines_restart(profile);
}

static void flush_last(void)
{
    if (recorded)
        dw_lines_flush(recorded, true);
}

static void stop(void)
{
    if (!recorded)
        return;
    dw_lines_flush(recorded, false);
    dw_line_log_stop(recorded);
}

/* The log of the child has none of what its parent's has. */
static void forked(void)
{
    dw_lines_forget_other_threads();
    if (!recorded)
        return;
    dw_lines_forked(recorded);
    dw_line_table_release(&recorded->log->written);
}

struct dw_probe dw_line_probe = {
    .name = "lines",
    .needs_gil = true,
    .flush = flush_last,
    .stop = stop,
    .forked = forked,
};

int dw_line_log_start(struct dw_line_profile *profile, const char *path)
{
    struct dw_line_log *log = calloc(1, sizeof *log);
    dw_probe_add(&dw_line_probe);
    struct dw_ledger_options file = {.path = path};
    int error = log ? dw_ledger_open(&file, &log->ledger) : DW_ERR_MEMORY;
    if (error) {
        free(log);
        return error;
    }
    recorded = profile;
    profile->log = log;
    profile->first_clock = dw_clock_pair_now();
    profile->flush_at = dw_flush_next(dw_tick(), 1);
    return 0;
}

void dw_line_log_stop(struct dw_line_profile *profile)
{
    if (!profile->log)
        return;
    dw_ledger_stop(profile->log->ledger);
    dw_ledger_release(profile->log->ledger);
    dw_line_table_release(&profile->log->written);
    free(profile->log);
    profile->log = NULL;
    recorded = NULL;
}
