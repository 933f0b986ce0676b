/* SPDX-License-Identifier: MIT
 * Rows are written as they come. Of CSV only the first waits until all its names are known. */
#include "lens/table/data.h"

#include "lens/view/notes.h"

#include <inttypes.h>

static void put_text(struct dw_out *out, const char *text)
{
    dw_out_json_string(out, text, strlen(text));
}

void dw_data_begin(struct dw_data *data, struct dw_out *out, bool is_csv)
{
    *data = (struct dw_data){.out = out, .is_csv = is_csv};
    if (is_csv) {
        dw_out_init_memory(&data->heading);
        dw_out_init_memory(&data->line);
    } else {
        dw_out_text(out, "{\n  \"dwell\": \"" DW_VERSION "\",\n  \"view\": 1");
    }
}

void dw_data_keys(struct dw_data *data, const char *const *keys, uint32_t count)
{
    for (uint32_t i = 0; i < count && !data->is_csv; i++) {
        dw_out_text(data->out, i ? ", " : ",\n  \"keys\": [");
        put_text(data->out, keys[i]);
    }
    dw_out_text(data->out, data->is_csv ? "" : "]");
}

/* Ends the row before. */
static void end_row(struct dw_data *data)
{
    if (!data->rows)
        return;
    dw_out_text(data->out, data->is_csv ? "" : "}");
    if (data->is_csv && data->rows == 1) {
        dw_out_write(data->out, data->heading.buffer.data, data->heading.buffer.size);
        dw_out_text(data->out, data->has_no_rows ? "" : "\n");
        dw_out_write(data->out, data->line.buffer.data,
                     data->has_no_rows ? 0 : data->line.buffer.size);
    }
    dw_out_text(data->out, data->is_csv ? "\n" : "");
}

void dw_data_measures(struct dw_data *data, const struct dw_data_measure *measures, uint32_t count)
{
    static const char *const units[DW_UNITS] = {"count", "ns", "bytes", "ticks"};
    struct dw_out *out = data->out;
    if (data->is_csv)
        return;
    dw_out_text(out, ",\n  \"measures\": [");
    for (uint32_t i = 0; i < count; i++) {
        dw_out_printf(out, "%s\n    {\"name\": \"%s\", \"unit\": \"%s\"", i ? "," : "",
                      measures[i].name, units[measures[i].unit]);
        if (measures[i].all)
            dw_out_printf(out, ", \"all\": %" PRIu64, *measures[i].all);
        dw_out_printf(out, ", \"meaning\": \"%s\"}", measures[i].meaning);
    }
    dw_out_text(out, "],\n  \"rows\": ");
    dw_data_begin_rows(data, out);
}

void dw_data_begin_rows(struct dw_data *data, struct dw_out *out)
{
    *data = (struct dw_data){.out = out};
    dw_out_char(out, '[');
}

void dw_data_end_rows(struct dw_data *data)
{
    end_row(data);
    dw_out_text(data->out, data->is_csv ? "" : "]");
}

void dw_data_row(struct dw_data *data)
{
    end_row(data);
    if (!data->is_csv)
        dw_out_text(data->out, data->rows ? ",\n    {" : "\n    {");
    data->rows++;
    data->cells = 0;
}

/* The same, with the end of the name. */
static struct dw_out *cell(struct dw_data *data, const char *name, const char *suffix)
{
    const char *comma = data->cells++ ? data->is_csv ? "," : ", " : "";
    struct dw_out *out = data->is_csv && data->rows == 1 ? &data->line : data->out;
    if (data->is_csv && data->rows == 1)
        dw_out_printf(&data->heading, "%s%s%s", comma, name, suffix);
    dw_out_text(out, comma);
    if (!data->is_csv) {
        put_text(out, name);
        dw_out_text(out, ": ");
    }
    return out;
}

struct dw_out *dw_data_cell(struct dw_data *data, const char *name)
{
    return cell(data, name, "");
}

void dw_data_text(struct dw_data *data, const char *name, struct dw_string text)
{
    struct dw_out *out = cell(data, name, "");
    if (!data->is_csv)
        dw_out_json_string(out, text.bytes, text.size);
    else if (text.size)
        dw_out_csv_field(out, text.bytes, text.size);
}

void dw_data_number(struct dw_data *data, const char *name, uint64_t number)
{
    dw_out_u64(cell(data, name, ""), number);
}

void dw_data_real(struct dw_data *data, const char *name, double number, bool is_known)
{
    struct dw_out *out = cell(data, name, "");
    if (is_known)
        dw_out_printf(out, "%.4f", number);
    else
        dw_out_text(out, data->is_csv ? "" : "null");
}

void dw_data_pair(struct dw_data *data, const char *name, uint64_t total, uint64_t self)
{
    struct dw_out *out = cell(data, name, "");
    if (data->is_csv) {
        dw_out_u64(out, total);
        dw_out_u64(cell(data, name, "_self"), self);
    } else {
        dw_out_printf(out, "{\"total\": %" PRIu64 ", \"self\": %" PRIu64 "}", total, self);
    }
}

void dw_data_end(struct dw_data *data, const struct dw_profile *profile, uint32_t left_out,
                 bool of_samples)
{
    struct dw_out *out = data->out;
    dw_data_end_rows(data);
    if (!data->is_csv) {
        dw_out_printf(out, ",\n  \"rows_left_out\": %" PRIu32, left_out);
        if (of_samples)
            dw_notes_put_json_sampling(out, profile);
        dw_notes_put_json_losses(out, profile);
        dw_out_text(out, "\n}\n");
    }
    if (data->is_csv) {
        dw_out_close_into(&data->heading, out);
        dw_out_close_into(&data->line, out);
    }
}
