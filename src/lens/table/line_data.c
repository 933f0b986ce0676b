/* SPDX-License-Identifier: MIT
 * The lines of line_report.c as data, with all columns: CSV with seconds, JSON with
 * nanoseconds. Only lines with code are in it. */
#include "lens/table/line_data.h"

#include "lens/view/line_column.h"
#include "lens/view/notes.h"

#include <inttypes.h>

static bool is_time(const struct dw_line_column *column)
{
    return column->form == DW_LINE_FORM_TIME || column->form == DW_LINE_FORM_PER_HIT;
}

static void put_field(struct dw_out *out, struct dw_string string)
{
    if (string.size)
        dw_out_csv_field(out, string.bytes, string.size);
    dw_out_char(out, ',');
}

static void put_csv_cell(struct dw_out *out, const struct dw_line_column *column,
                         const struct dw_line_listing *function, const struct dw_line *line)
{
    uint64_t value = line->values[column->metric];
    double number;
    dw_out_char(out, ',');
    if (column->form == DW_LINE_FORM_COUNT)
        dw_out_u64(out, value);
    else if (column->form == DW_LINE_FORM_TIME)
        dw_out_printf(out, "%" PRIu64 ".%09" PRIu64, value / 1000000000, value % 1000000000);
    else if (dw_line_column_number(column, function, line, &number))
        dw_out_printf(out, is_time(column) ? "%.12f" : "%.4f",
                      is_time(column) ? number / 1e9 : number);
}

static void put_csv_line(struct dw_out *out, const struct dw_line_list *list,
                         const struct dw_line_listing *function, const struct dw_line_entry *entry)
{
    const struct dw_line_column *column;
    put_field(out, function->file);
    put_field(out, function->name);
    dw_out_printf(out, "%" PRIu32 ",%" PRIu32, function->line, entry->number);
    for (size_t i = 0; (column = dw_line_column_at(i)); i++)
        if (dw_line_column_is_data(column, list))
            put_csv_cell(out, column, function, entry->measured);
    dw_out_char(out, ',');
    if (entry->text.size)
        dw_out_csv_field(out, entry->text.bytes, entry->text.size);
    dw_out_char(out, '\n');
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct dw_line_list list;
    const struct dw_line_column *column;
    int error = dw_line_list_make(profile, options->lines, &list);
    if (error)
        return error;
    dw_out_text(out, "file,function,function_line,line");
    for (size_t i = 0; (column = dw_line_column_at(i)); i++)
        if (dw_line_column_is_data(column, &list))
            dw_out_printf(out, ",%s", column->id);
    dw_out_text(out, ",source\n");
    for (uint32_t f = 0; f < list.count; f++) {
        const struct dw_line_listing *function = &list.functions[f];
        for (uint32_t i = 0; i < function->count && !out->error; i++)
            if (list.entries[function->first + i].measured)
                put_csv_line(out, &list, function, &list.entries[function->first + i]);
    }
    dw_line_list_release(&list);
    return 0;
}

static void put_json_string(struct dw_out *out, const char *key, struct dw_string string)
{
    dw_out_printf(out, "\"%s\": ", key);
    dw_out_json_string(out, string.bytes, string.size);
}

static void put_json_cell(struct dw_out *out, const struct dw_line_column *column,
                          const struct dw_line_listing *function, const struct dw_line *line)
{
    double number;
    bool is_whole = column->form == DW_LINE_FORM_COUNT || column->form == DW_LINE_FORM_TIME;
    dw_out_printf(out, ", \"%s%s\": ", column->id, is_time(column) ? "_ns" : "");
    if (is_whole)
        dw_out_u64(out, line->values[column->metric]);
    else if (dw_line_column_number(column, function, line, &number))
        dw_out_printf(out, "%.4f", number);
    else
        dw_out_text(out, "null");
}

static void put_json_cells(struct dw_out *out, const struct dw_line_list *list,
                           const struct dw_line_listing *function, const struct dw_line *line)
{
    const struct dw_line_column *column;
    for (size_t i = 0; (column = dw_line_column_at(i)); i++)
        if (dw_line_column_is_data(column, list))
            put_json_cell(out, column, function, line);
}

static void put_json_callee(struct dw_out *out, const struct dw_line_list *list,
                            const struct dw_line_listing *function, const struct dw_line *callee)
{
    const struct dw_frame *frame = &list->profile->frames.frames[callee->callee];
    dw_out_char(out, '{');
    put_json_string(out, "file", dw_profile_string(list->profile, frame->file));
    dw_out_printf(out, ", \"line\": %" PRIu32 ", ", frame->line);
    put_json_string(out, "name", dw_profile_string(list->profile, frame->name));
    put_json_cells(out, list, function, callee);
    dw_out_char(out, '}');
}

static void put_json_line(struct dw_out *out, const struct dw_line_list *list,
                          const struct dw_line_listing *function, const struct dw_line_entry *entry)
{
    dw_out_printf(out, "{\"line\": %" PRIu32, entry->number);
    put_json_cells(out, list, function, entry->measured);
    dw_out_text(out, ", ");
    if (entry->text.bytes)
        put_json_string(out, "source", entry->text);
    else
        dw_out_text(out, "\"source\": null");
    dw_out_text(out, ", \"callees\": [");
    for (uint32_t i = 0; i < entry->callee_count; i++) {
        dw_out_text(out, i ? ", " : "");
        put_json_callee(out, list, function, entry->callees[i]);
    }
    dw_out_text(out, "]}");
}

static void put_json_function(struct dw_out *out, const struct dw_line_list *list,
                              const struct dw_line_listing *function)
{
    static const char *const sources[] = {
        [DW_LINE_SOURCE_FOUND] = "found",
        [DW_LINE_SOURCE_MISSING] = "missing",
        [DW_LINE_SOURCE_SHORT] = "short",
        [DW_LINE_SOURCE_AMBIGUOUS] = "ambiguous",
    };
    bool first = true;
    dw_out_char(out, '{');
    put_json_string(out, "file", function->file);
    dw_out_printf(out, ", \"line\": %" PRIu32 ", ", function->line);
    put_json_string(out, "name", function->name);
    if (function->calls_known)
        dw_out_printf(out, ", \"calls\": %" PRIu64, function->calls);
    else
        dw_out_text(out, ", \"calls\": null");
    dw_out_printf(out, ", \"total_ns\": %" PRIu64 ", \"suspended_ns\": %" PRIu64,
                  dw_line_listing_time(function), function->totals[DW_LINE_SUSPENDED]);
    dw_out_printf(out, ", \"recursive\": %s, \"source\": \"%s\", \"lines\": [",
                  function->recursive ? "true" : "false", sources[function->source]);
    for (uint32_t i = 0; i < function->count && !out->error; i++) {
        const struct dw_line_entry *entry = &list->entries[function->first + i];
        if (!entry->measured)
            continue;
        dw_out_text(out, first ? "\n      " : ",\n      ");
        first = false;
        put_json_line(out, list, function, entry);
    }
    dw_out_text(out, "]}");
}

void dw_line_data_put_functions(struct dw_out *out, const struct dw_line_list *list)
{
    dw_out_char(out, '[');
    for (uint32_t i = 0; i < list->count && !out->error; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_json_function(out, list, &list->functions[i]);
    }
    dw_out_char(out, ']');
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_line_list list;
    int error = dw_line_list_make(profile, options->lines, &list);
    if (error)
        return error;
    dw_out_text(out, "{\n  \"dwell\": \"" DW_VERSION "\",\n  \"functions\": ");
    dw_line_data_put_functions(out, &list);
    dw_out_printf(out, ",\n  \"functions_left_out\": %" PRIu32, list.left_out);
    if (list.is_sampled)
        dw_notes_put_json_sampling(out, profile);
    dw_notes_put_json_losses(out, profile);
    dw_out_text(out, "\n}\n");
    dw_line_list_release(&list);
    return 0;
}

const struct dw_lens dw_line_csv = {.name = "csv", .lacks_notes = true, .write = write_csv};
const struct dw_lens dw_line_json = {.name = "json", .write = write_json};
