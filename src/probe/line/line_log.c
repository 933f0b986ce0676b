/* SPDX-License-Identifier: MIT
 * A flush writes the rows that changed. A forked child writes a file of its own,
 * NAME.PID.dwell, as soon as it has something to tell. */
#include "probe/line/line_log.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int add_edge(struct dw_probe_log *log, struct dw_line_table *rows,
                    const struct dw_line_edge *edge, struct dw_line row, double tick_ns)
{
    const struct dw_line_callee *callee = edge->callee;
    const PyCodeObject *code = callee->name ? NULL : (const PyCodeObject *)callee->owner;
    int error = dw_probe_log_frame(log, code ? code->co_qualname : callee->name, code, &row.callee);
    row.values[DW_LINE_HITS] = edge->calls;
    row.values[DW_LINE_TIME] = scaled(edge->time, tick_ns);
    return error ? error : dw_line_add(rows, &row);
}

static int add_line(struct dw_probe_log *log, struct dw_line_table *rows,
                    const struct dw_line_count *count, dw_frame_id function, uint32_t number,
                    double tick_ns)
{
    struct dw_line row = {.function = function, .line = number};
    int error = add_row(rows, count, function, number, tick_ns);
    for (const struct dw_line_edge *edge = count->edges; edge && !error; edge = edge->next)
        error = add_edge(log, rows, edge, row, tick_ns);
    return error;
}

static int add_function(struct dw_probe_log *log, struct dw_line_table *rows,
                        const struct dw_line_code *function, double tick_ns)
{
    struct dw_line whole = {.values = {[DW_LINE_HITS] = function->calls}};
    int error =
        dw_probe_log_frame(log, function->code->co_qualname, function->code, &whole.function);
    for (uint32_t i = 0; i < function->line_count && !error; i++) {
        const struct dw_line_count *count = &function->lines[i];
        whole.values[DW_LINE_TIME] += scaled(count->time, tick_ns);
        if (count->has_code || count->has_inner_code)
            error = add_line(log, rows, count, whole.function, function->first_line + i, tick_ns);
    }
    return error ? error : dw_line_add(rows, &whole);
}

static int collect(struct dw_probe_log *log, struct dw_line_profile *profile,
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

static int flush(struct dw_line_log *log, struct dw_line_profile *profile, bool last)
{
    struct dw_line_table rows = {0};
    int error = collect(&log->base, profile, &rows);
    if (!error)
        error = keep_news(&rows, &log->written);
    if (!error) {
        dw_probe_log_define(&log->base);
        dw_log_write_lines(&log->base.writer, 0, &rows, 0);
        error = dw_probe_log_end(&log->base, last, NULL);
    }
    dw_line_table_release(&rows);
    return error;
}

static void free_log(struct dw_line_log *log)
{
    dw_probe_log_release(&log->base);
    dw_line_table_release(&log->written);
    free(log->path);
    free(log);
}

void dw_line_log_stop(struct dw_line_profile *profile)
{
    if (profile->log)
        free_log(profile->log);
    profile->log = NULL;
    if (recorded == profile)
        recorded = NULL;
}

static int new_log(const char *path, struct dw_line_log **result)
{
    struct dw_line_log *log = calloc(1, sizeof *log);
    if (!log)
        return DW_ERR_MEMORY;
    log->path = strdup(path);
    int error = log->path ? dw_probe_log_open(&log->base, path, NULL) : DW_ERR_MEMORY;
    if (error)
        free_log(log);
    else
        *result = log;
    return error;
}

/* [signal-safe] */
static void after_fork_in_child(void)
{
    if (recorded)
        dw_lines_forked(recorded);
}

int dw_line_log_start(struct dw_line_profile *profile, const char *path)
{
    static bool watches_forks;
    int error = new_log(path, &profile->log);
    if (error)
        return error;
    recorded = profile;
    profile->first_clock = dw_clock_pair_now();
    profile->flush_at = dw_probe_log_next(dw_tick(), 1);
    if (!watches_forks)
        watches_forks = !pthread_atfork(NULL, NULL, after_fork_in_child);
    return 0;
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

/* Gives a forked child a file beside its parent's, once it has something to tell. */
static int change_to_child_log(struct dw_line_profile *profile)
{
    char path[4096];
    struct dw_line_log *parent = profile->log, *child;
    if (!has_hits(profile))
        return 0;
    snprintf(path, sizeof path, "%s", parent->path);
    int error = dw_log_name_child(path, sizeof path, dw_log_stem_size(path));
    if (!error)
        error = new_log(path, &child);
    if (error)
        return error;
    free_log(parent);
    profile->log = child;
    return 0;
}

static int flush_profile(struct dw_line_profile *profile, bool last)
{
    int error = dw_probe_log_is_ours(&profile->log->base) ? 0 : change_to_child_log(profile);
    if (error || !dw_probe_log_is_ours(&profile->log->base))
        return error;
    return flush(profile->log, profile, last);
}

void dw_lines_flush(struct dw_line_profile *profile, bool last)
{
    if (!profile->log)
        return;
    uint64_t before = dw_tick();
    int error = flush_profile(profile, last);
    if (error) {
        dw_probe_log_complain(error);
        dw_line_log_stop(profile);
    }
    profile->flush_at = dw_probe_log_next(before, dw_lines_tick_ns(profile));
    dw_lines_restart(profile);
}
