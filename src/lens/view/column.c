/* SPDX-License-Identifier: MIT
 * The table of columns: what selects each, what it is called, and which number of a row it shows.
 * Times and bytes are written in the unit in which they have few digits. */
#include "lens/view/column.h"

#include "base/error.h"
#include "lens/view/roster.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define INDENT_MAX 100 /* levels; a deeper row says how many more */
#define INDENTS_10 ". . . . . . . . . . "
#define INDENTS_50 INDENTS_10 INDENTS_10 INDENTS_10 INDENTS_10 INDENTS_10
static const char indents[] = INDENTS_50 INDENTS_50;
static_assert(sizeof indents == 2 * INDENT_MAX + 1, "an indent for each level");

static void put_indented_name(struct dw_out *out, const struct dw_rows *rows,
                              const struct dw_row *row)
{
    uint32_t levels = row->depth < INDENT_MAX ? row->depth : INDENT_MAX;
    dw_out_write(out, indents, 2 * levels);
    if (row->depth > INDENT_MAX)
        dw_out_printf(out, "(+%u) ", row->depth - INDENT_MAX);
    dw_row_put_label(out, rows, row);
}

static void put_parent_id(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    (void)rows;
    if (row->parent != DW_ROW_NONE)
        dw_out_u64(out, row->parent);
}

static void put_parent_name(struct dw_out *out, const struct dw_rows *rows,
                            const struct dw_row *row)
{
    if (row->parent != DW_ROW_NONE)
        dw_row_put_name(out, rows, &rows->rows[row->parent]);
}

static void put_path(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    if (rows->by == DW_BY_NAME)
        dw_row_put_name(out, rows, row);
    else
        dw_row_put_path(out, rows, row);
}

static void put_thread(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    uint32_t thread = dw_row_tree(rows, row)->thread;
    if (thread != DW_ROW_NONE)
        dw_roster_put_thread(out, rows->profile, thread);
}

static void put_process(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    uint32_t process = dw_row_tree(rows, row)->process;
    if (process != DW_ROW_NONE)
        dw_roster_put_program(out, rows->profile, process, rows->has_hosts);
}

#define GETTER(name, value)                                                                        \
    static uint64_t name(const struct dw_row *row, const struct dw_metric *metric)                 \
    {                                                                                              \
        (void)row, (void)metric;                                                                   \
        return value;                                                                              \
    }

GETTER(get_id, row->id)
GETTER(get_total, row->total)
GETTER(get_inner, row->inner)
GETTER(get_self, row->self)
GETTER(get_suspended, metric->suspended)
GETTER(get_cpu, metric->cpu)
GETTER(get_count, metric->count)
GETTER(get_min, metric->min)
GETTER(get_max, metric->max)
GETTER(get_open, metric->open)
GETTER(get_average, dw_metric_average(metric))
GETTER(get_active, row->total > metric->suspended ? row->total - metric->suspended : 0)
GETTER(get_stdev, (uint64_t)(dw_metric_stdev(metric) + 0.5))
GETTER(get_p50, dw_metric_quantile(metric, 0.50))
GETTER(get_p95, dw_metric_quantile(metric, 0.95))
GETTER(get_p99, dw_metric_quantile(metric, 0.99))

/* A time as people read it, and in microseconds as programs do. */
#define TIMES(id, header, get, of_entries)                                                         \
    {#id, #id, header, DW_COLUMN_TIME, get, NULL, of_entries},                                     \
    {                                                                                              \
#id "_us", #id "_us", header " us", DW_COLUMN_TIME_US, get, NULL, of_entries               \
    }

static const struct dw_column columns[] = {
    {"name", "name", "name", DW_COLUMN_TEXT, NULL, dw_row_put_name, false},
    {"indented_name", "name", "name", DW_COLUMN_TEXT, NULL, put_indented_name, false},
    {"node_id", "id", "id", DW_COLUMN_NUMBER, get_id, NULL, false},
    {"parent_id", "parent_id", "parent id", DW_COLUMN_TEXT, NULL, put_parent_id, false},
    {"parent_name", "parent_name", "parent name", DW_COLUMN_TEXT, NULL, put_parent_name, false},
    {"percents_of_total", "percents_of_total", "% of total", DW_COLUMN_SHARE, get_total, NULL,
     false},
    {"count", "count", "count", DW_COLUMN_NUMBER, get_count, NULL, false},
    {"samples", "samples", "samples", DW_COLUMN_NUMBER, get_count, NULL, false},
    TIMES(total, "total", get_total, false),
    TIMES(total_inner, "total inner", get_inner, false),
    TIMES(average, "average", get_average, true),
    TIMES(min, "min", get_min, true),
    TIMES(max, "max", get_max, true),
    TIMES(self, "self", get_self, false),
    TIMES(p50, "p50", get_p50, true),
    TIMES(p95, "p95", get_p95, true),
    TIMES(p99, "p99", get_p99, true),
    TIMES(stdev, "stdev", get_stdev, true),
    TIMES(active, "active", get_active, true),
    TIMES(suspended, "suspended", get_suspended, true),
    TIMES(cpu, "cpu", get_cpu, true),
    {"open", "open", "open", DW_COLUMN_NUMBER, get_open, NULL, true},
    {"path", "path", "path", DW_COLUMN_TEXT, NULL, put_path, false},
    {"thread", "thread", "thread", DW_COLUMN_TEXT, NULL, put_thread, false},
    {"process", "process", "process", DW_COLUMN_TEXT, NULL, put_process, false},
};

const struct dw_column *dw_column_at(size_t index)
{
    return index < sizeof columns / sizeof *columns ? &columns[index] : NULL;
}

const struct dw_column *dw_column_find(const char *id)
{
    const struct dw_column *column;
    for (size_t i = 0; (column = dw_column_at(i)); i++)
        if (!strcmp(column->id, id) || !strcmp(column->name, id))
            return column;
    return NULL;
}

int dw_columns_choose(const struct dw_lens_options *options, const char *const *otherwise,
                      const struct dw_column ***result, size_t *result_count)
{
    const char *const *ids = options->columns ? options->columns : otherwise;
    size_t count = options->columns ? options->column_count : 0;
    while (!options->columns && ids[count])
        count++;
    const struct dw_column **chosen = malloc((count + 1) * sizeof *chosen);
    if (!chosen)
        return DW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        chosen[i] = dw_column_find(ids[i]);
        if (!chosen[i]) {
            free(chosen);
            return DW_ERR_ARGUMENT;
        }
    }
    *result = chosen;
    *result_count = count;
    return 0;
}

static void put_share(struct dw_out *out, const struct dw_rows *rows, const struct dw_row *row)
{
    double whole = (double)dw_row_tree(rows, row)->total;
    dw_out_fixed(out, whole > 0 ? 100.0 * (double)row->total / whole : 0.0, 2);
    dw_out_char(out, '%');
}

void dw_column_put(const struct dw_column *column, struct dw_out *out, const struct dw_rows *rows,
                   const struct dw_row *row, const struct dw_metric *metric)
{
    switch (column->kind) {
    case DW_COLUMN_TEXT: column->text(out, rows, row); break;
    case DW_COLUMN_NUMBER: dw_out_u64(out, column->get(row, metric)); break;
    case DW_COLUMN_TIME: dw_rows_put_time(out, rows, column->get(row, metric)); break;
    case DW_COLUMN_TIME_US:
        dw_out_u64(out,
                   rows->are_counts ? column->get(row, metric) : column->get(row, metric) / 1000);
        break;
    case DW_COLUMN_SHARE: put_share(out, rows, row); break;
    }
}

void dw_rows_put_time(struct dw_out *out, const struct dw_rows *rows, uint64_t ns)
{
    if (rows->are_bytes)
        dw_out_bytes(out, ns);
    else if (rows->are_counts)
        dw_out_u64(out, ns);
    else
        dw_out_duration(out, ns);
}

static uint64_t divide_rounded(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor >= (divisor + 1) / 2);
}

/* Decimals by magnitude, as judged after rounding: 9.9996 is "10.00", not "10.000". */
static void put_scaled(struct dw_out *out, uint64_t ns, uint64_t unit)
{
    static const uint64_t powers[] = {1, 10, 100, 1000};
    static const uint64_t limits[] = {UINT64_MAX, 500, 100, 10};
    for (unsigned decimals = 3;; decimals--) {
        uint64_t power = powers[decimals];
        uint64_t scaled = divide_rounded(ns, unit / power);
        if (scaled / power >= limits[decimals] && decimals)
            continue;
        return dw_out_decimal(out, scaled, decimals);
    }
}

void dw_out_duration(struct dw_out *out, uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *suffix;
    } units[] = {{1000, " us"}, {1000000, " ms"}, {1000000000, " s"}};
    if (ns < 1000) {
        dw_out_u64(out, ns);
        dw_out_text(out, " ns");
        return;
    }
    size_t unit = 0;
    while (unit < 2 && divide_rounded(ns, units[unit].ns) >= 1000)
        unit++;
    put_scaled(out, ns, units[unit].ns);
    dw_out_text(out, units[unit].suffix);
}

void dw_out_moment(struct dw_out *out, double ns, int decimals)
{
    double seconds = ns / 1e9;
    uint64_t whole = (uint64_t)(seconds + 0.5);
    if (seconds < 120)
        dw_out_printf(out, "%.*f s", decimals, seconds);
    else if (whole < 3600)
        dw_out_printf(out, "%" PRIu64 ":%02" PRIu64 " min", whole / 60, whole % 60);
    else
        dw_out_printf(out, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " h", whole / 3600,
                      whole / 60 % 60, whole % 60);
}

void dw_out_bytes(struct dw_out *out, uint64_t bytes)
{
    static const char *const suffixes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double scaled = (double)bytes;
    while (unit < 4 && scaled >= 1023.95) {
        scaled /= 1024;
        unit++;
    }
    dw_out_fixed(out, scaled, unit ? (scaled < 10 ? 2 : 1) : 0);
    dw_out_char(out, ' ');
    dw_out_text(out, suffixes[unit]);
}

uint64_t dw_whole_ns(double ns)
{
    if (!(ns > 0))
        return 0;
    return ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
}
