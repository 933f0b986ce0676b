/* SPDX-License-Identifier: MIT
 * Measures come first, the names of keys last: names are what differs in length. */
#include "lens/table/view_report.h"

#include "lens/table/fit.h"
#include "lens/view/column.h"
#include "lens/view/measured.h"
#include "lens/view/notes.h"

#include <inttypes.h>

#define NUMBER_WIDTH 11
#define SHARE_WIDTH 8
#define NAME_MIN 16

static const struct dw_measure_info *info_of(const struct dw_view *view, uint32_t measure)
{
    return &dw_measures[view->options.measures[measure]];
}

static size_t number_width(const struct dw_view *view, uint32_t measure)
{
    size_t size = strlen(info_of(view, measure)->name) + 2;
    return size > NUMBER_WIDTH ? size : NUMBER_WIDTH;
}

static double share(const struct dw_view *view, uint32_t measure, uint64_t value)
{
    return view->all[measure] ? 100.0 * (double)value / (double)view->all[measure] : 0;
}

static void put_number(struct dw_out *out, enum dw_unit unit, uint64_t value)
{
    if (unit == DW_UNIT_NS)
        dw_out_duration(out, value);
    else if (unit == DW_UNIT_BYTES)
        dw_out_bytes(out, value);
    else
        dw_out_u64(out, value);
}

static void put_right(struct dw_out *out, struct dw_out *cell, size_t width)
{
    size_t size = cell->buffer.size;
    dw_out_printf(out, "%*s", size < width ? (int)(width - size) : 1, "");
    dw_out_write(out, cell->buffer.data, size);
    dw_buffer_clear(&cell->buffer);
}

static void put_heading(struct dw_out *out, const struct dw_view *view, const size_t *widths)
{
    for (uint32_t i = 0; i < view->options.measure_count; i++) {
        const char *name = info_of(view, i)->name;
        dw_out_printf(out, "%*s", (int)number_width(view, i), name);
        if (dw_view_has_self(view, i))
            dw_out_printf(out, "%*s", NUMBER_WIDTH, "self");
        if (!i)
            dw_out_printf(out, "%*s", SHARE_WIDTH, dw_view_has_self(view, i) ? "self %" : "%");
    }
    for (uint32_t k = 0; k < view->options.key_count; k++)
        dw_out_printf(out, "  %-*s", k + 1 < view->options.key_count ? (int)widths[k] : 0,
                      view->options.keys[k]);
    dw_out_char(out, '\n');
}

static void put_numbers(struct dw_out *out, const struct dw_view *view,
                        const struct dw_view_row *row, struct dw_out *cell)
{
    for (uint32_t i = 0; i < view->options.measure_count; i++) {
        const struct dw_view_number *number = &row->numbers[i];
        put_number(cell, info_of(view, i)->unit, number->total);
        put_right(out, cell, number_width(view, i));
        if (dw_view_has_self(view, i)) {
            put_number(cell, info_of(view, i)->unit, number->self);
            put_right(out, cell, NUMBER_WIDTH);
        }
        if (!i)
            dw_out_printf(out, "%*.2f", SHARE_WIDTH, share(view, i, number->self));
    }
}

/* The widest name of a key, so that columns stand under each other; the last may be of any width.
 */
static size_t width_of(const struct dw_view *view, uint32_t key)
{
    size_t width = strlen(view->options.keys[key]);
    for (uint32_t i = 0; i < view->count; i++) {
        size_t size = strlen(view->rows[i].names[key]);
        width = size > width ? size : width;
    }
    return width;
}

static void put_names(struct dw_out *out, const struct dw_view *view, const struct dw_view_row *row,
                      const size_t *widths, size_t room)
{
    for (uint32_t k = 0; k < view->options.key_count; k++) {
        bool is_last = k + 1 == view->options.key_count;
        size_t size = strlen(row->names[k]);
        dw_out_text(out, "  ");
        if (is_last)
            dw_fit_put(out, row->names[k], size, room >= NAME_MIN ? room : 0);
        else
            dw_out_printf(out, "%s%*s", row->names[k], (int)(widths[k] - size), "");
    }
}

static size_t room_for_last(const struct dw_view *view, const size_t *widths, size_t width)
{
    size_t before = SHARE_WIDTH + 2;
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        before += number_width(view, i) + (dw_view_has_self(view, i) ? NUMBER_WIDTH : 0);
    for (uint32_t k = 0; k + 1 < view->options.key_count; k++)
        before += widths[k] + 2;
    return width > before ? width - before : 0;
}

static int write_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct dw_view view;
    struct dw_out cell;
    size_t widths[DW_VIEW_KEYS_MAX];
    int error = dw_view_make(profile, options->view, &view);
    if (error)
        return error;
    dw_out_init_memory(&cell);
    for (uint32_t k = 0; k < view.options.key_count; k++)
        widths[k] = width_of(&view, k);
    if (dw_family_is_in(profile, DW_FAMILY_SAMPLES))
        dw_notes_put_sampling(out, profile, "");
    put_heading(out, &view, widths);
    for (uint32_t i = 0; i < view.count && !out->error; i++) {
        put_numbers(out, &view, &view.rows[i], &cell);
        put_names(out, &view, &view.rows[i], widths, room_for_last(&view, widths, options->width));
        dw_out_char(out, '\n');
    }
    if (view.left_out)
        dw_out_printf(out, "(%" PRIu32 " more)\n", view.left_out);
    dw_notes_put_losses(out, profile, "");
    dw_view_release(&view);
    return dw_out_close(&cell);
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct dw_view view;
    int error = dw_view_make(profile, options->view, &view);
    if (error)
        return error;
    for (uint32_t k = 0; k < view.options.key_count; k++)
        dw_out_printf(out, "%s%s", k ? "," : "", view.options.keys[k]);
    for (uint32_t i = 0; i < view.options.measure_count; i++)
        dw_out_printf(out, ",%s,%s_self", info_of(&view, i)->name, info_of(&view, i)->name);
    dw_out_char(out, '\n');
    for (uint32_t r = 0; r < view.count && !out->error; r++) {
        const struct dw_view_row *row = &view.rows[r];
        for (uint32_t k = 0; k < view.options.key_count; k++) {
            dw_out_text(out, k ? "," : "");
            dw_out_csv_field(out, row->names[k], strlen(row->names[k]));
        }
        for (uint32_t i = 0; i < view.options.measure_count; i++)
            dw_out_printf(out, ",%" PRIu64 ",%" PRIu64, row->numbers[i].total,
                          row->numbers[i].self);
        dw_out_char(out, '\n');
    }
    dw_view_release(&view);
    return 0;
}

static void put_json_text(struct dw_out *out, const char *text)
{
    dw_out_json_string(out, text, strlen(text));
}

static void put_json_head(struct dw_out *out, const struct dw_view *view)
{
    static const char *const units[DW_UNITS] = {"count", "ns", "bytes", "ticks"};
    dw_out_text(out, "{\n  \"dwell\": \"" DW_VERSION "\",\n  \"view\": 1,\n  \"keys\": [");
    for (uint32_t k = 0; k < view->options.key_count; k++) {
        dw_out_text(out, k ? ", " : "");
        put_json_text(out, view->options.keys[k]);
    }
    dw_out_text(out, "],\n  \"measures\": [");
    for (uint32_t i = 0; i < view->options.measure_count; i++) {
        const struct dw_measure_info *info = info_of(view, i);
        dw_out_printf(out,
                      "%s\n    {\"name\": \"%s\", \"unit\": \"%s\", \"all\": %" PRIu64
                      ", \"meaning\": \"%s\"}",
                      i ? "," : "", info->name, units[info->unit], view->all[i], info->meaning);
    }
    dw_out_text(out, "],\n  \"rows\": [");
}

static void put_json_row(struct dw_out *out, const struct dw_view *view,
                         const struct dw_view_row *row)
{
    dw_out_char(out, '{');
    for (uint32_t k = 0; k < view->options.key_count; k++) {
        dw_out_text(out, k ? ", " : "");
        put_json_text(out, view->options.keys[k]);
        dw_out_text(out, ": ");
        put_json_text(out, row->names[k]);
    }
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        dw_out_printf(out, ", \"%s\": {\"total\": %" PRIu64 ", \"self\": %" PRIu64 "}",
                      info_of(view, i)->name, row->numbers[i].total, row->numbers[i].self);
    dw_out_char(out, '}');
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_view view;
    int error = dw_view_make(profile, options->view, &view);
    if (error)
        return error;
    put_json_head(out, &view);
    for (uint32_t i = 0; i < view.count && !out->error; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_json_row(out, &view, &view.rows[i]);
    }
    dw_out_printf(out, "],\n  \"rows_left_out\": %" PRIu32, view.left_out);
    if (dw_family_is_in(profile, DW_FAMILY_SAMPLES))
        dw_notes_put_json_sampling(out, profile);
    dw_notes_put_json_losses(out, profile);
    dw_out_text(out, "\n}\n");
    dw_view_release(&view);
    return 0;
}

const struct dw_lens dw_view_table = {.name = "table", .write = write_table};
const struct dw_lens dw_view_csv = {.name = "csv", .lacks_notes = true, .write = write_csv};
const struct dw_lens dw_view_json = {.name = "json", .write = write_json};
