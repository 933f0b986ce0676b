/* SPDX-License-Identifier: MIT
 * A table for people, in the shape of region_profiler's console report. Cells are formatted twice,
 * once to find the widths and once to print, so that they take no memory. Most numbers tell before
 * that they are no wider than others. */
#include "base/error.h"
#include "lens/table/fit.h"
#include "lens/view/column.h"
#include "lens/view/notes.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

#define NAME_MIN 24         /* columns that names keep in the narrowest terminal */
#define CELL_MAX (1u << 14) /* bytes; what is longer is cut */

static const char *const default_columns[] = {
    "indented_name", "total", "percents_of_total", "count", "min", "average", "max", NULL};

static const char *const sample_columns[] = {"indented_name", "total",   "percents_of_total",
                                             "self",          "samples", NULL};

static const char *const entry_totals[] = {"indented_name", "total", "percents_of_total", "self",
                                           NULL};
static const char *const sample_totals[] = {"indented_name", "total", "percents_of_total",
                                            "samples", NULL};

struct table {
    struct dw_rows rows;
    const struct dw_column **columns;
    size_t *widths;
    uint64_t *most; /* of each column: its largest number so far */
    size_t count;
    struct dw_out cell;
    struct dw_out *out;
};

static struct dw_string format(struct table *table, size_t column, const struct dw_row *row,
                               const struct dw_metric *metric)
{
    dw_buffer_clear(&table->cell.buffer);
    if (table->cell.error == DW_ERR_OUTPUT)
        table->cell.error = 0;
    dw_column_put(table->columns[column], &table->cell, &table->rows, row, metric);
    return (struct dw_string){(char *)table->cell.buffer.data, table->cell.buffer.size};
}

static bool is_text(const struct table *table, size_t column)
{
    return table->columns[column]->kind == DW_COLUMN_TEXT;
}

static size_t width_of(const struct table *table, size_t column, struct dw_string cell)
{
    return is_text(table, column) ? dw_text_width(cell.bytes, cell.size) : cell.size;
}

/* A larger number is not shorter, but for times and bytes, whose units change; these are as long as
 * any of less than eleven days or a PiB from some length on. Shares are of the tree of the row. */
static bool is_covered(const struct table *table, size_t column, const struct dw_row *row,
                       const struct dw_metric *metric)
{
    enum dw_column_kind kind = table->columns[column]->kind;
    size_t longest = table->rows.are_bytes ? strlen("1023.9 KiB") : strlen("499.9 us");
    bool is_ordered = kind == DW_COLUMN_TIME    ? table->widths[column] >= longest
                      : kind == DW_COLUMN_SHARE ? table->rows.tree_count == 1
                                                : kind != DW_COLUMN_TEXT;
    uint64_t number = is_ordered ? table->columns[column]->get(row, metric) : 0;
    if (!is_ordered || number <= table->most[column])
        return is_ordered;
    table->most[column] = number;
    return false;
}

static void measure(struct table *table)
{
    for (size_t c = 0; c < table->count; c++)
        table->widths[c] = strlen(table->columns[c]->header);
    for (uint32_t r = 0; r < table->rows.count; r++) {
        const struct dw_row *row = &table->rows.rows[r];
        struct dw_metric metric = dw_row_metric(&table->rows, row);
        for (size_t c = 0; c < table->count; c++) {
            if (is_covered(table, c, row, &metric))
                continue;
            size_t width = width_of(table, c, format(table, c, row, &metric));
            if (width > table->widths[c])
                table->widths[c] = width;
        }
    }
}

/* The first column, of names, gives way to the others. */
static void fit(struct table *table, size_t width)
{
    size_t others = 0;
    for (size_t c = 1; c < table->count; c++)
        others += 2 + table->widths[c];
    size_t room = others + NAME_MIN < width ? width - others : NAME_MIN;
    if (table->count && width && table->widths[0] > room)
        table->widths[0] = room;
}

/* The first column is flush left, the others right. */
static void put_cell(struct table *table, size_t column, struct dw_string cell)
{
    size_t width = table->widths[column];
    if (!column) {
        dw_out_repeat(table->out, ' ',
                      width - dw_fit_put(table->out, cell.bytes, cell.size, width));
        return;
    }
    dw_out_repeat(table->out, ' ', 2 + width - width_of(table, column, cell));
    if (is_text(table, column))
        dw_out_printable(table->out, cell.bytes, cell.size);
    else
        dw_out_write(table->out, cell.bytes, cell.size);
}

static void put_header(struct table *table)
{
    for (size_t c = 0; c < table->count; c++) {
        const char *header = table->columns[c]->header;
        put_cell(table, c, (struct dw_string){header, strlen(header)});
    }
    dw_out_char(table->out, '\n');
    for (size_t c = 0; c < table->count; c++) {
        dw_out_text(table->out, c ? "  " : "");
        dw_out_repeat(table->out, '-', table->widths[c]);
    }
    dw_out_char(table->out, '\n');
}

static void put_row(struct table *table, const struct dw_row *row)
{
    struct dw_metric metric = dw_row_metric(&table->rows, row);
    for (size_t c = 0; c < table->count; c++)
        put_cell(table, c, format(table, c, row, &metric));
    dw_out_char(table->out, '\n');
}

static void put_table(struct table *table, size_t width)
{
    if (table->rows.are_samples)
        dw_notes_put_sampling(table->out, table->rows.profile, "");
    dw_rows_put_whole(table->out, &table->rows);
    measure(table);
    fit(table, width);
    put_header(table);
    for (uint32_t r = 0; r < table->rows.count && !table->out->error; r++)
        put_row(table, &table->rows.rows[r]);
    if (table->rows.left_out)
        dw_out_printf(table->out, "(%u more)\n", table->rows.left_out);
    dw_notes_put_losses(table->out, table->rows.profile, "");
}

static bool asks_for(const struct dw_lens_options *options, const char *column)
{
    for (size_t i = 0; options->columns && i < options->column_count; i++)
        if (!strcmp(options->columns[i], column))
            return true;
    return false;
}

static int choose_columns(struct table *table, const struct dw_profile *profile,
                          const struct dw_lens_options *options)
{
    bool are_samples = dw_shows_samples(profile, options->family);
    const char *const *totals = are_samples ? sample_totals : entry_totals;
    const char *const *others = are_samples ? sample_columns : default_columns;
    return dw_columns_choose(options, options->only_totals ? totals : others, &table->columns,
                             &table->count);
}

/* A thread or process is a row; its tree is shown to those who ask for the column of trees. */
static int write_table(const struct dw_profile *profile, const struct dw_lens_options *given,
                       struct dw_out *out)
{
    struct table table = {.out = out};
    struct dw_lens_options options = *given;
    options.only_totals = (given->by == DW_BY_THREAD || given->by == DW_BY_PROCESS) &&
                          !asks_for(given, "indented_name");
    options.threshold = 0;
    dw_out_init_memory(&table.cell);
    dw_out_limit(&table.cell, CELL_MAX);
    int error = choose_columns(&table, profile, &options);
    if (!error)
        error = dw_rows_make(profile, &options, &table.rows);
    if (!error) {
        table.widths = calloc(table.count + 1, sizeof *table.widths);
        table.most = calloc(table.count + 1, sizeof *table.most);
        error = table.widths && table.most ? 0 : DW_ERR_MEMORY;
    }
    if (!error)
        put_table(&table, options.width);
    bool has_failed = table.cell.error == DW_ERR_MEMORY;
    dw_out_close(&table.cell);
    dw_rows_release(&table.rows);
    free(table.widths);
    free(table.most);
    free(table.columns);
    return error || !has_failed ? error : DW_ERR_MEMORY;
}

const struct dw_lens dw_lens_table = {
    .name = "table",
    .summary = "a table for people",
    .write = write_table,
};
