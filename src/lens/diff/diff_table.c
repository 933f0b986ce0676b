/* SPDX-License-Identifier: MIT
 * A diff for people: the sentence, then the rows that changed. */
#include "lens/diff/diff.h"
#include "lens/view/column.h"

#include <inttypes.h>

typedef void put_cell(struct dw_out *out, const struct dw_diff *diff,
                      const struct dw_diff_row *row);

static void put_change(struct dw_out *out, const struct dw_diff *diff,
                       const struct dw_diff_row *row)
{
    dw_diff_put_change(out, diff, row->change);
}

static void put_side(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row,
                     enum dw_side side)
{
    uint64_t self = row->at[side].self, total = diff->totals[side];
    if (!row->is_in[side])
        dw_out_char(out, '-');
    else if (diff->options.normalise)
        dw_out_printf(out, "%.2f %%", total ? 100.0 * (double)self / (double)total : 0);
    else
        dw_diff_put_amount(out, diff, (double)self);
}

static void put_old(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    put_side(out, diff, row, DW_OLD);
}

static void put_new(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    put_side(out, diff, row, DW_NEW);
}

static void put_ratio(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    double old = dw_diff_self(diff, row, DW_OLD), new = dw_diff_self(diff, row, DW_NEW);
    if (!row->is_in[DW_OLD] || !row->is_in[DW_NEW])
        dw_out_text(out, row->is_in[DW_NEW] ? "new" : "gone");
    else if (old <= 0)
        dw_out_char(out, '-');
    else
        dw_out_printf(out, "%.*fx", new / old < 100 ? 2 : 0, new / old);
}

static void put_calls(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    (void)diff;
    uint64_t old = row->at[DW_OLD].count, new = row->at[DW_NEW].count;
    if (old == new)
        dw_out_u64(out, new);
    else
        dw_out_printf(out, "%" PRIu64 " → %" PRIu64, old, new);
}

static void put_from_calls(struct dw_out *out, const struct dw_diff *diff,
                           const struct dw_diff_row *row)
{
    dw_diff_put_change(out, diff, row->from_calls);
}

static void put_from_speed(struct dw_out *out, const struct dw_diff *diff,
                           const struct dw_diff_row *row)
{
    dw_diff_put_change(out, diff, row->from_speed);
}

static void put_total(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row)
{
    dw_diff_put_change(out, diff, row->change_total);
}

static const struct {
    const char *header;
    put_cell *put;
} columns[] = {
    {"change", put_change},         {"old", put_old},           {"new", put_new},
    {"ratio", put_ratio},           {"calls", put_calls},       {"from calls", put_from_calls},
    {"from speed", put_from_speed}, {"with callees", put_total}};
#define COLUMNS (sizeof columns / sizeof *columns)

struct table {
    const struct dw_diff *diff;
    size_t widths[COLUMNS];
    struct dw_out cell;
    struct dw_out *out;
};

static const char *header_of(const struct dw_diff *diff, size_t column)
{
    if (columns[column].put != put_calls)
        return columns[column].header;
    return diff->are_samples                  ? "samples"
           : diff->options.by == DW_DIFF_LINE ? "hits"
                                              : columns[column].header;
}

static bool is_shown(const struct dw_diff *diff, size_t column)
{
    if (columns[column].put == put_calls)
        return !diff->are_bytes;
    return !diff->are_samples ||
           (columns[column].put != put_from_calls && columns[column].put != put_from_speed);
}

static size_t cell_width(struct table *table, size_t column, const struct dw_diff_row *row)
{
    dw_buffer_clear(&table->cell.buffer);
    columns[column].put(&table->cell, table->diff, row);
    return dw_text_width(table->cell.buffer.data, table->cell.buffer.size);
}

static void measure(struct table *table)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        table->widths[c] = strlen(header_of(table->diff, c));
        for (uint32_t r = 0; r < table->diff->shown; r++) {
            size_t width = cell_width(table, c, &table->diff->rows[r]);
            if (width > table->widths[c])
                table->widths[c] = width;
        }
    }
}

static void put_row(struct table *table, const struct dw_diff_row *row)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(table->diff, c))
            continue;
        dw_out_repeat(table->out, ' ', table->widths[c] - cell_width(table, c, row));
        dw_out_write(table->out, table->cell.buffer.data, table->cell.buffer.size);
        dw_out_text(table->out, "  ");
    }
    dw_diff_put_row_name(table->out, table->diff, row);
    dw_out_char(table->out, '\n');
}

static void put_rows(struct table *table)
{
    measure(table);
    for (size_t c = 0; c < COLUMNS; c++)
        if (is_shown(table->diff, c))
            dw_out_printf(table->out, "%*s  ", (int)table->widths[c], header_of(table->diff, c));
    dw_out_printf(table->out, "%s\n", dw_diff_by_names[table->diff->options.by]);
    for (uint32_t i = 0; i < table->diff->shown && !table->out->error; i++)
        put_row(table, &table->diff->rows[i]);
}

static void put_files(struct dw_out *out, const struct dw_diff *diff)
{
    static const char *const names[DW_SIDES] = {"old", "new"};
    for (enum dw_side side = 0; side < DW_SIDES; side++) {
        dw_out_printf(out, "%s  ", names[side]);
        dw_diff_put_amount(out, diff, (double)diff->totals[side]);
        dw_out_text(out, "  ");
        dw_out_printable(out, diff->options.files[side], strlen(diff->options.files[side]));
        dw_out_char(out, '\n');
    }
}

/* Rows that are not listed, and how much of the change is theirs. */
static void put_left_out(struct dw_out *out, const struct dw_diff *diff)
{
    double change = 0;
    uint32_t count = 0;
    for (uint32_t i = diff->shown; i < diff->count; i++) {
        change += diff->rows[i].change;
        count += diff->rows[i].change != 0;
    }
    if (!count)
        return;
    dw_out_printf(out, "(%u more: ", count);
    dw_diff_put_change(out, diff, change);
    dw_out_text(out, ")\n");
}

int dw_diff_write_table(const struct dw_diff *diff, struct dw_out *out)
{
    struct table table = {.diff = diff, .out = out};
    dw_out_init_memory(&table.cell);
    dw_diff_put_sentence(out, diff);
    dw_out_text(out, "\n\n");
    put_files(out, diff);
    dw_out_char(out, '\n');
    if (diff->shown)
        put_rows(&table);
    put_left_out(out, diff);
    dw_diff_put_losses(out, diff, "");
    return dw_out_close(&table.cell);
}
