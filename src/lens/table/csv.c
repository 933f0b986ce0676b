/* SPDX-License-Identifier: MIT
 * Comma-separated values by RFC 4180, except that lines end with \n alone: that
 * is what the tools on this platform write and expect, and what all readers take.
 * A recording that holds nothing but lines is written by line. */
#include "lens/table/data.h"
#include "lens/view/column.h"
#include "lens/view/line_list.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

static const char *const default_columns[] = {
    "node_id", "name",   "parent_id",  "parent_name", "total_us", "total_inner_us",
    "count",   "min_us", "average_us", "max_us",      NULL};

/* Samples do not tell how long single entries were. */
static const char *const sample_columns[] = {"node_id",  "name",    "parent_id", "parent_name",
                                             "total_us", "self_us", "samples",   NULL};
static const char *const count_columns[] = {"node_id", "name",    "parent_id", "parent_name",
                                            "self",    "samples", NULL};

static const char *const *columns_of(const struct dw_profile *profile, enum dw_family family)
{
    if (!dw_shows_samples(profile, family))
        return default_columns;
    return dw_samples_are_counts(profile) ? count_columns : sample_columns;
}

static void put_row(struct dw_data *data, const struct dw_column **columns, size_t count,
                    const struct dw_rows *rows, const struct dw_row *row, struct dw_out *cell)
{
    struct dw_metric metric = data->has_no_rows ? (struct dw_metric){0} : dw_row_metric(rows, row);
    dw_data_row(data);
    for (size_t c = 0; c < count; c++) {
        dw_buffer_clear(&cell->buffer);
        if (!data->has_no_rows)
            dw_column_put(columns[c], cell, rows, row, &metric);
        dw_data_text(data, columns[c]->name,
                     (struct dw_string){(const char *)cell->buffer.data, cell->buffer.size});
    }
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    const struct dw_column **columns = NULL;
    size_t count;
    struct dw_rows rows = {0};
    struct dw_data data;
    struct dw_out cell;
    if (dw_lines_are_all(profile) && !options->columns)
        return dw_line_csv.write(profile, options, out);
    int error = dw_columns_choose(options, columns_of(profile, options->family), &columns, &count);
    if (!error)
        error = dw_rows_make(profile, options, &rows);
    if (!error) {
        dw_out_init_memory(&cell);
        dw_data_begin(&data, out, true);
        data.has_no_rows = !rows.count;
        for (uint32_t r = 0; r < rows.count + data.has_no_rows && !out->error; r++)
            put_row(&data, columns, count, &rows, &rows.rows[r], &cell);
        dw_data_end(&data, profile, rows.left_out, false);
        dw_out_close_into(&cell, out);
    }
    dw_rows_release(&rows);
    free(columns);
    return error;
}

const struct dw_lens dw_lens_csv = {
    .name = "csv",
    .summary = "comma-separated values",
    .extension = ".csv",
    .lacks_notes = true,
    .shows_lines = true,
    .write = write_csv,
};
