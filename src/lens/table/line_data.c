/* SPDX-License-Identifier: MIT
 * Lines as data: a row for each function as a whole, whose line is 0, for each of its lines that
 * has code and, when they are asked for, for what a line called. */
#include "lens/table/data.h"
#include "lens/view/line_column.h"

#define COLUMNS_MAX 32

static void put_cells(struct dw_data *data, const struct dw_line_list *list,
                      const struct dw_line_listing *function, const struct dw_line *line)
{
    const struct dw_line_column *column;
    double number;
    for (size_t i = 0; (column = dw_line_column_at(i)); i++) {
        bool is_whole = column->form == DW_LINE_FORM_COUNT || column->form == DW_LINE_FORM_TIME ||
                        column->form == DW_LINE_FORM_BYTES;
        if (!dw_line_column_is_data(column, list))
            continue;
        bool is_unknown = !line->line && column->metric == DW_LINE_HITS && !function->calls_known;
        if (is_whole && !is_unknown)
            dw_data_number(data, column->id, line->values[column->metric]);
        else if (!is_unknown && dw_line_column_number(column, function, line, &number))
            dw_data_real(data, column->id, number, true);
        else
            dw_data_real(data, column->id, 0, false);
    }
}

static void put_line(struct dw_data *data, const struct dw_line_list *list,
                     const struct dw_line_listing *function, const struct dw_line *line,
                     struct dw_string source)
{
    const struct dw_profile *profile = list->profile;
    const struct dw_frame *callee = &profile->frames.frames[line->callee];
    dw_data_row(data);
    dw_data_text(data, "function", function->name);
    dw_data_text(data, "file", function->file);
    dw_data_number(data, "lineno", function->line);
    dw_data_number(data, "line", line->line);
    dw_data_text(data, "callee", dw_profile_string(profile, line->callee ? callee->name : 0));
    dw_data_text(data, "callee_file", dw_profile_string(profile, line->callee ? callee->file : 0));
    dw_data_number(data, "callee_lineno", line->callee ? callee->line : 0);
    put_cells(data, list, function, line);
    dw_data_text(data, "source", source);
}

/* As a whole it began as often as it was called. */
static void put_whole(struct dw_data *data, const struct dw_line_list *list,
                      const struct dw_line_listing *function)
{
    struct dw_line whole = {.function = function->frame};
    memcpy(whole.values, function->totals, sizeof whole.values);
    whole.values[DW_LINE_HITS] = function->calls;
    whole.values[DW_LINE_TOTAL] = function->sampled;
    put_line(data, list, function, &whole, (struct dw_string){"", 0});
}

void dw_line_data_put_rows(struct dw_data *data, const struct dw_line_list *list, bool callees)
{
    for (uint32_t f = 0; f < list->count && !data->out->error; f++) {
        const struct dw_line_listing *function = &list->functions[f];
        put_whole(data, list, function);
        for (uint32_t i = 0; i < function->count && !data->out->error; i++) {
            const struct dw_line_entry *entry = &list->entries[function->first + i];
            struct dw_string text = entry->text.bytes ? entry->text : (struct dw_string){"", 0};
            if (entry->measured)
                put_line(data, list, function, entry->measured, text);
            for (uint32_t c = 0; callees && c < entry->callee_count; c++)
                put_line(data, list, function, entry->callees[c], (struct dw_string){"", 0});
        }
    }
}

static enum dw_unit unit_of(const struct dw_line_column *column)
{
    return column->form == DW_LINE_FORM_COUNT ? DW_UNIT_COUNT
           : column->metric >= DW_LINE_MEMORY ? DW_UNIT_BYTES
                                              : DW_UNIT_NS;
}

static void put_head(struct dw_data *data, const struct dw_line_list *list)
{
    static const char *const keys[] = {"function", "line", "callee"};
    struct dw_data_measure measures[COLUMNS_MAX];
    const struct dw_line_column *column;
    uint32_t count = 0;
    for (size_t i = 0; (column = dw_line_column_at(i)) && count < COLUMNS_MAX; i++)
        if (dw_line_column_is_data(column, list) && column->form != DW_LINE_FORM_SHARE)
            measures[count++] =
                (struct dw_data_measure){column->id, column->about, unit_of(column), NULL};
    dw_data_keys(data, keys, 3);
    dw_data_measures(data, measures, count);
}

static int write_data(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out, bool is_csv)
{
    struct dw_line_list list;
    struct dw_data data;
    int error = dw_line_list_make(profile, options->lines, &list);
    if (error)
        return error;
    dw_data_begin(&data, out, is_csv);
    put_head(&data, &list);
    dw_line_data_put_rows(&data, &list, options->lines && options->lines->callees);
    dw_data_end(&data, profile, list.left_out, list.is_sampled);
    dw_line_list_release(&list);
    return 0;
}

DW_DATA_LENSES(dw_line, write_data);
