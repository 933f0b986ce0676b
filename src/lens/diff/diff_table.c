/* SPDX-License-Identifier: MIT
 * A diff for people: the sentence, then the rows that changed. */
#include "lens/diff/diff.h"
#include "lens/view/column.h"

#include <inttypes.h>

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

static void put_calls(struct dw_out *out, const struct dw_diff_row *row)
{
    uint64_t old = row->at[DW_OLD].count, new = row->at[DW_NEW].count;
    if (old == new)
        dw_out_u64(out, new);
    else
        dw_out_printf(out, "%" PRIu64 " → %" PRIu64, old, new);
}

enum form { CHANGE, OLD, NEW, RATIO, CALLS };
static const struct column {
    const char *header;
    size_t change; /* of a change: where the row has it */
    enum form form;
    bool is_of_calls; /* means nothing where calls are not known */
} columns[] = {
    {"change", offsetof(struct dw_diff_row, change), CHANGE, false},
    {"old", 0, OLD, false},
    {"new", 0, NEW, false},
    {"ratio", 0, RATIO, false},
    {"calls", 0, CALLS, false},
    {"from calls", offsetof(struct dw_diff_row, from_calls), CHANGE, true},
    {"from speed", offsetof(struct dw_diff_row, from_speed), CHANGE, true},
    {"with callees", offsetof(struct dw_diff_row, change_total), CHANGE, false},
};
#define COLUMNS (sizeof columns / sizeof *columns)

static void put_cell(struct dw_out *out, const struct dw_diff *diff, const struct dw_diff_row *row,
                     const struct column *column)
{
    double change;
    switch (column->form) {
    case CHANGE:
        memcpy(&change, (const char *)row + column->change, sizeof change);
        dw_diff_put_change(out, diff, change);
        break;
    case OLD: put_side(out, diff, row, DW_OLD); break;
    case NEW: put_side(out, diff, row, DW_NEW); break;
    case RATIO: put_ratio(out, diff, row); break;
    case CALLS: put_calls(out, row); break;
    }
}

struct table {
    const struct dw_diff *diff;
    size_t widths[COLUMNS];
    struct dw_out cell;
    struct dw_out *out;
};

static const char *header_of(const struct dw_diff *diff, size_t column)
{
    if (columns[column].form != CALLS)
        return columns[column].header;
    return diff->are_samples                  ? "samples"
           : diff->options.by == DW_DIFF_LINE ? "hits"
                                              : columns[column].header;
}

static bool is_shown(const struct dw_diff *diff, size_t column)
{
    return columns[column].form == CALLS ? !diff->are_bytes
                                         : !(diff->are_samples && columns[column].is_of_calls);
}

static size_t cell_width(struct table *table, size_t column, const struct dw_diff_row *row)
{
    dw_buffer_clear(&table->cell.buffer);
    put_cell(&table->cell, table->diff, row, &columns[column]);
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
