/* SPDX-License-Identifier: MIT
 * Measures come first, the names of keys last: names are what differs in length. */
#include "lens/table/view_report.h"

#include "lens/table/data.h"
#include "lens/table/fit.h"
#include "lens/view/column.h"
#include "lens/view/measured.h"
#include "lens/view/notes.h"

#include <inttypes.h>

#define CELLS_MAX (2 * DW_MEASURES + DW_VIEW_PARTS + 2)
#define MEASURE_WIDTH 11
#define SECONDS_WIDTH 10
#define NAME_MIN 30 /* columns: with fewer, names take a second line rather than be cut */

/* A column of numbers for people. */
enum cell_form { CELL_MEASURE, CELL_SECONDS, CELL_SHARE };
struct cell {
    const char *heading;
    enum cell_form form;
    uint32_t number; /* of the row's numbers */
    bool is_self;
    int width;
};

struct page {
    struct dw_view view;
    struct cell cells[CELLS_MAX];
    uint32_t count;
    size_t widths[DW_VIEW_KEYS_MAX]; /* of names */
    struct dw_out text;
    struct dw_out *out;
};

static const struct dw_measure_info *info_of(const struct dw_view *view, uint32_t measure)
{
    return &dw_measures[view->options.measures[measure]];
}

static void add_cell(struct page *page, const char *heading, enum cell_form form, uint32_t number,
                     bool is_self)
{
    int width = form == CELL_MEASURE ? MEASURE_WIDTH : form == CELL_SECONDS ? SECONDS_WIDTH : 8;
    int needed = (int)strlen(heading) + 2;
    bool is_first_share = form == CELL_SHARE && !page->count;
    if (form == CELL_MEASURE && width < needed)
        width = needed;
    page->cells[page->count++] =
        (struct cell){heading, form, number, is_self, width - is_first_share};
}

static void choose_measures(struct page *page)
{
    const struct dw_view *view = &page->view;
    for (uint32_t i = 0; i < view->options.measure_count; i++) {
        bool has_self = dw_view_has_self(view, i);
        add_cell(page, info_of(view, i)->name, CELL_MEASURE, i, false);
        if (has_self)
            add_cell(page, "self", CELL_MEASURE, i, true);
        if (!i)
            add_cell(page, has_self ? "self %" : "%", CELL_SHARE, i, true);
    }
}

/* Shares of all samples; those of own time add up to the whole. Numbers of samples where they
 * stand for no known time. Lines tell how their time was spent. */
static void choose_sampled(struct page *page)
{
    const struct dw_view *view = &page->view;
    uint32_t parts = view->options.measure_count;
    bool are_counts = dw_samples_are_counts(view->profile);
    bool is_by_line = view->keys[0]->part == DW_KEY_LINE;
    add_cell(page, "total %", CELL_SHARE, 0, false);
    add_cell(page, "self %", CELL_SHARE, 0, true);
    add_cell(page, are_counts ? "samples" : "total s", CELL_SECONDS, 0, false);
    add_cell(page, are_counts ? "self" : "self s", CELL_SECONDS, 0, true);
    if (!are_counts)
        add_cell(page, "samples", CELL_SECONDS, 1, false);
    if (is_by_line && view->tells_running) {
        add_cell(page, are_counts ? "python" : "python s", CELL_SECONDS, parts + DW_VIEW_PYTHON,
                 true);
        add_cell(page, are_counts ? "native" : "native s", CELL_SECONDS, parts + DW_VIEW_NATIVE,
                 true);
    }
    if (is_by_line && view->tells_waiting)
        add_cell(page, are_counts ? "waiting" : "waiting s", CELL_SECONDS, parts + DW_VIEW_WAITING,
                 true);
}

static enum dw_unit unit_of(const struct dw_view *view, uint32_t number)
{
    uint32_t count = view->options.measure_count;
    return count ? info_of(view, number < count ? number : 0)->unit : DW_UNIT_COUNT;
}

static void put_cell(struct page *page, const struct cell *cell, const struct dw_view_row *row)
{
    const struct dw_view_number *number = &row->numbers[cell->number];
    uint64_t value = cell->is_self ? number->self : number->total;
    uint64_t all = cell->form == CELL_SHARE ? page->view.all[cell->number] : 0;
    struct dw_out *text = &page->text;
    dw_buffer_clear(&text->buffer);
    if (cell->form == CELL_SHARE)
        dw_out_fixed(text, all ? 100.0 * (double)value / (double)all : 0, 2);
    else if (unit_of(&page->view, cell->number) == DW_UNIT_BYTES)
        dw_out_bytes(text, value);
    else if (unit_of(&page->view, cell->number) != DW_UNIT_NS)
        dw_out_u64(text, value);
    else if (cell->form == CELL_SECONDS)
        dw_out_fixed(text, (double)value / 1e9, 3);
    else
        dw_out_duration(text, value);
    int size = (int)dw_text_width(text->buffer.data, text->buffer.size);
    dw_out_printf(page->out, "%*s", size < cell->width ? cell->width - size : page->count > 1, "");
    dw_out_write(page->out, text->buffer.data, text->buffer.size);
}

/* The widest name of each key, so that columns stand under each other; the last may be of any
 * width. */
static void measure_names(struct page *page)
{
    const struct dw_view *view = &page->view;
    for (uint32_t k = 0; k + 1 < view->options.key_count; k++) {
        page->widths[k] = strlen(view->options.keys[k]);
        for (uint32_t i = 0; i < view->count; i++) {
            size_t size = strlen(view->rows[i].names[k]);
            page->widths[k] = size > page->widths[k] ? size : page->widths[k];
        }
    }
}

/* The last is cut when there is room for it, but not for all of it. */
static void put_names(struct page *page, const char *const *names, size_t width)
{
    uint32_t last = page->view.options.key_count - 1;
    size_t before = 2;
    for (uint32_t i = 0; i < page->count; i++)
        before += (size_t)page->cells[i].width;
    for (uint32_t k = 0; k < last; k++) {
        before += page->widths[k] + 2;
        dw_out_printf(page->out, "  %-*s", (int)page->widths[k], names[k]);
    }
    dw_out_text(page->out, "  ");
    dw_fit_put(page->out, names[last], strlen(names[last]),
               width >= before + NAME_MIN ? width - before : 0);
    dw_out_char(page->out, '\n');
}

static void put_notes(struct page *page)
{
    const struct dw_view *view = &page->view;
    if (view->options.is_sampled_list || dw_family_is_in(view->profile, DW_FAMILY_SAMPLES))
        dw_notes_put_sampling(page->out, view->profile, "");
    if (view->options.is_sampled_list)
        dw_notes_put_whole(page->out, view->profile, "");
    if (view->options.is_sampled_list && view->idle_threads)
        dw_out_printf(page->out,
                      "idle: %" PRIu32 " of %" PRIu32 " thread%s only waited; their time is marked "
                      "and counts last\n",
                      view->idle_threads, view->threads, view->threads == 1 ? "" : "s");
}

static void put_page(struct page *page, size_t width)
{
    const struct dw_view *view = &page->view;
    if (view->options.is_sampled_list)
        choose_sampled(page);
    else
        choose_measures(page);
    measure_names(page);
    put_notes(page);
    for (uint32_t i = 0; i < page->count; i++)
        dw_out_printf(page->out, "%*s", page->cells[i].width, page->cells[i].heading);
    put_names(page, view->options.keys, 0);
    for (uint32_t r = 0; r < view->count && !page->out->error; r++) {
        for (uint32_t i = 0; i < page->count; i++)
            put_cell(page, &page->cells[i], &view->rows[r]);
        put_names(page, view->rows[r].names, width);
    }
    if (view->left_out)
        dw_out_printf(page->out, "(%" PRIu32 " more)\n", view->left_out);
    dw_notes_put_losses(page->out, view->profile, "");
}

static int write_table(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct page page = {.out = out};
    int error = dw_view_make(profile, options->view, &page.view);
    if (error)
        return error;
    dw_out_init_memory(&page.text);
    put_page(&page, options->width);
    dw_view_release(&page.view);
    return dw_out_close(&page.text);
}

static void put_place(struct dw_data *data, const struct dw_view *view,
                      const struct dw_view_row *row)
{
    struct dw_view_where where = dw_view_where(view, row);
    if (view->place_key < 0)
        return;
    dw_data_text(data, "name", where.name);
    dw_data_text(data, "file", where.file);
    dw_data_number(data, "lineno", where.line);
    dw_data_text(data, "object", where.module);
}

/* What is beside the measures of samples and of calls. */
static void put_parts(struct dw_data *data, const struct dw_view *view,
                      const struct dw_view_row *row)
{
    static const char *const names[DW_VIEW_PARTS] = {
        [DW_VIEW_PYTHON] = "python", [DW_VIEW_NATIVE] = "native", [DW_VIEW_WAITING] = "waiting"};
    for (enum dw_view_part part = 0; view->options.is_sampled_list && part < DW_VIEW_PARTS; part++)
        if (names[part])
            dw_data_number(data, names[part], dw_view_part(view, row, part)->self);
    for (uint32_t i = 0; i < view->options.measure_count && view->place_key >= 0; i++)
        if (view->options.measures[i] == DW_CALLS)
            dw_data_number(data, "primitive_calls",
                           dw_view_part(view, row, DW_VIEW_PRIMITIVE)->self);
}

static void put_row(struct dw_data *data, const struct dw_view *view, const struct dw_view_row *row)
{
    dw_data_row(data);
    for (uint32_t k = 0; k < view->options.key_count; k++)
        dw_data_text(data, view->options.keys[k],
                     (struct dw_string){row->names[k], row->names[k] ? strlen(row->names[k]) : 0});
    put_place(data, view, row);
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        dw_data_pair(data, info_of(view, i)->name, row->numbers[i].total, row->numbers[i].self);
    put_parts(data, view, row);
}

static void put_data(struct dw_data *data, const struct dw_view *view)
{
    struct dw_data_measure measures[DW_MEASURES];
    struct dw_view_number zeros[DW_MEASURES + DW_VIEW_PARTS] = {{0}};
    for (uint32_t i = 0; i < view->options.measure_count; i++) {
        const struct dw_measure_info *info = info_of(view, i);
        measures[i] =
            (struct dw_data_measure){info->name, info->meaning, info->unit, &view->all[i]};
    }
    dw_data_keys(data, view->options.keys, view->options.key_count);
    dw_data_measures(data, measures, view->options.measure_count);
    data->has_no_rows = !view->count;
    if (data->is_csv && !view->count)
        put_row(data, view, &(struct dw_view_row){.numbers = zeros});
    for (uint32_t i = 0; i < view->count && !data->out->error; i++)
        put_row(data, view, &view->rows[i]);
}

static int write_data(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out, bool is_csv)
{
    struct dw_view view;
    struct dw_data data;
    int error = dw_view_make(profile, options->view, &view);
    if (error)
        return error;
    dw_data_begin(&data, out, is_csv);
    put_data(&data, &view);
    dw_data_end(&data, profile, view.left_out, dw_family_is_in(profile, DW_FAMILY_SAMPLES));
    dw_view_release(&view);
    return 0;
}

const struct dw_lens dw_view_table = {.name = "table", .write = write_table};
DW_DATA_LENSES(dw_view, write_data);
