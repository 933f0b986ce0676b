/* SPDX-License-Identifier: MIT
 * Lines for people, in the very layout of line_profiler: as text, or for a notebook as the same
 * text in HTML, with a colour behind lines that take time. */
#include "lens/view/line_column.h"
#include "lens/view/notes.h"
#include "lens/view/stack_tree.h"

#include <inttypes.h>
#include <stdio.h>

#define COLUMNS_MAX 32
#define NUMBER_WIDTH 6 /* of the line number, at least */
#define TAB_WIDTH 8
/* The font is named since nbconvert has none for <pre>. */
#define HEAT_BEGIN                                                                                 \
    "<pre style=\"font-family:var(--jp-code-font-family,monospace);white-space:pre;"               \
    "overflow-x:auto;line-height:1.3\">"
#define HEAT_SPAN                                                                                  \
    "<span style=\"display:inline-block;min-width:100%%;background:rgba(255,96,0,%.2f)\">"
#define HEAT_LEAST 0.5 /* percents that are coloured */

struct page {
    const struct dw_line_list *list;
    const struct dw_line_options *options;
    struct dw_out *out;
    struct dw_out *html; /* where `out` goes, line by line; NULL: it is not HTML */
    bool are_counts;     /* times are numbers of samples */
    /* Of the function at hand: */
    const struct dw_line_listing *function;
    const struct dw_line_column *columns[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    size_t count;
    size_t number_width;
};

static void put_string(struct dw_out *out, struct dw_string string)
{
    dw_out_printable(out, string.bytes, string.size);
}

/* Moves the lines that were put to the page. The colour is laid over the page's own, be it light or
 * dark. */
static void drain(struct page *page, double percent)
{
    struct dw_buffer *text = &page->out->buffer;
    const char *at = (const char *)text->data, *end = at + (page->html ? text->size : 0);
    for (const char *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next : end;
        if (percent >= HEAT_LEAST)
            dw_out_printf(page->html, HEAT_SPAN, percent * 0.0055);
        dw_out_xml(page->html, at, (size_t)(next - at));
        dw_out_text(page->html, percent >= HEAT_LEAST ? "</span>\n" : "\n");
    }
    if (page->html)
        dw_buffer_clear(text);
}

/* The first share among the columns, which is that of the time. */
static double share_of(const struct page *page, const struct dw_line *line)
{
    double percent = 0;
    for (size_t c = 0; line && c < page->count; c++)
        if (page->columns[c]->form == DW_LINE_FORM_SHARE) {
            dw_line_column_number(page->columns[c], page->function, line, &percent);
            return percent;
        }
    return 0;
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static const struct dw_line_entry *entry_at(const struct page *page, uint32_t index)
{
    return &page->list->entries[page->function->first + index];
}

static void show(const struct page *page, size_t column, const struct dw_line *line,
                 char cell[DW_LINE_CELL_MAX])
{
    double unit_s = page->are_counts ? 1e-9 : page->options->unit_s;
    dw_line_column_show(page->columns[column], page->function, line, unit_s, cell);
}

static void widen(struct page *page, const struct dw_line *line)
{
    char cell[DW_LINE_CELL_MAX];
    for (size_t c = 0; c < page->count; c++) {
        show(page, c, line, cell);
        if (strlen(cell) > page->widths[c])
            page->widths[c] = strlen(cell);
    }
}

static void choose_columns(struct page *page)
{
    const struct dw_line_column *column;
    page->count = 0;
    for (size_t i = 0; (column = dw_line_column_at(i)) && page->count < COLUMNS_MAX; i++) {
        if (!dw_line_column_is_present(column, page->function))
            continue;
        page->columns[page->count] = column;
        page->widths[page->count++] = column->width;
    }
}

static void measure(struct page *page)
{
    uint32_t largest = 0;
    choose_columns(page);
    for (uint32_t i = 0; i < page->function->count; i++) {
        const struct dw_line_entry *entry = entry_at(page, i);
        largest = entry->number > largest ? entry->number : largest;
        if (entry->measured)
            widen(page, entry->measured);
        for (uint32_t c = 0; page->options->callees && c < entry->callee_count; c++)
            widen(page, entry->callees[c]);
    }
    size_t digits = (size_t)snprintf(NULL, 0, "%" PRIu32, largest);
    page->number_width = digits > NUMBER_WIDTH ? digits : NUMBER_WIDTH;
}

static void put_heading(struct page *page)
{
    const struct dw_line_listing *function = page->function;
    const char *note = dw_line_source_note(function->source);
    struct dw_out *out = page->out;
    if (page->are_counts)
        dw_out_printf(out, "Samples: %" PRIu64 "\nFile: ", function->sampled);
    else
        dw_out_printf(out, "Total time: %g s\nFile: ", seconds(dw_line_listing_time(function)));
    put_string(out, function->file);
    dw_out_text(out, "\nFunction: ");
    put_string(out, function->name);
    dw_out_printf(out, " at line %" PRIu32 "\n", function->line);
    if (*note)
        dw_out_printf(out, "%s\n", note);
}

static void put_header(struct page *page)
{
    static const char contents[] = "  Line Contents";
    struct dw_out *out = page->out;
    size_t width = page->number_width + strlen(contents);
    dw_out_printf(out, "\n%*s", (int)page->number_width, "Line #");
    for (size_t c = 0; c < page->count; c++) {
        dw_out_printf(out, " %*s", (int)page->widths[c], page->columns[c]->heading);
        width += page->widths[c] + 1;
    }
    dw_out_text(out, contents);
    dw_out_char(out, '\n');
    dw_out_repeat(out, '=', width);
    dw_out_char(out, '\n');
}

static void put_cells(struct page *page, const struct dw_line *line)
{
    char cell[DW_LINE_CELL_MAX] = "";
    for (size_t c = 0; c < page->count; c++) {
        if (line)
            show(page, c, line, cell);
        dw_out_printf(page->out, " %*s", (int)page->widths[c], cell);
    }
}

/* Tabs keep their width, whatever stands before the text. */
static void put_text(struct dw_out *out, struct dw_string text)
{
    size_t column = 0;
    const char *at = text.bytes, *end = at + text.size;
    while (at < end) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        size_t size = (size_t)((tab ? tab : end) - at);
        dw_out_printable(out, at, size);
        column += dw_text_width(at, size);
        if (!tab)
            return;
        size_t pad = TAB_WIDTH - column % TAB_WIDTH;
        dw_out_repeat(out, ' ', pad);
        column += pad;
        at = tab + 1;
    }
}

static size_t indent_of(struct dw_string text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.size && (text.bytes[i] == ' ' || text.bytes[i] == '\t'); i++)
        width = text.bytes[i] == '\t' ? (width / TAB_WIDTH + 1) * TAB_WIDTH : width + 1;
    return width;
}

static void put_callee(struct page *page, const struct dw_line *callee, size_t indent)
{
    const struct dw_frame *frame = &page->list->profile->frames.frames[callee->callee];
    dw_out_repeat(page->out, ' ', page->number_width);
    put_cells(page, callee);
    dw_out_repeat(page->out, ' ', indent + 4);
    dw_out_text(page->out, "-> ");
    put_string(page->out, dw_profile_string(page->list->profile, frame->name));
    dw_out_char(page->out, '\n');
}

static void put_line(struct page *page, const struct dw_line_entry *entry)
{
    size_t indent = 0;
    dw_out_printf(page->out, "%*" PRIu32, (int)page->number_width, entry->number);
    put_cells(page, entry->measured);
    dw_out_text(page->out, "  ");
    if (entry->text.bytes) {
        put_text(page->out, entry->text);
        indent = indent_of(entry->text);
    }
    dw_out_char(page->out, '\n');
    drain(page, share_of(page, entry->measured));
    for (uint32_t i = 0; page->options->callees && i < entry->callee_count; i++)
        put_callee(page, entry->callees[i], indent);
}

static void put_function(struct page *page)
{
    measure(page);
    put_heading(page);
    put_header(page);
    for (uint32_t i = 0; i < page->function->count && !page->out->error; i++) {
        drain(page, 0);
        put_line(page, entry_at(page, i));
    }
    dw_out_char(page->out, '\n');
}

static void put_summary(const struct page *page, const struct dw_line_listing *function)
{
    struct dw_out *out = page->out;
    if (page->are_counts)
        dw_out_printf(out, "%6" PRIu64 " samples - ", function->sampled);
    else
        dw_out_printf(out, "%6.2f seconds - ", seconds(dw_line_listing_time(function)));
    put_string(out, function->file);
    dw_out_printf(out, ":%" PRIu32 " - ", function->line);
    put_string(out, function->name);
    dw_out_char(out, '\n');
}

static void put_all(struct page *page)
{
    const struct dw_line_list *list = page->list;
    const struct dw_line_options *options = page->options;
    if (!page->are_counts)
        dw_out_printf(page->out, "Timer unit: %g s\n\n", options->unit_s);
    for (uint32_t i = 0; options->details && i < list->count && !page->out->error; i++) {
        page->function = &list->functions[i];
        put_function(page);
    }
    if (options->summarize || !options->details)
        for (uint32_t i = 0; i < list->count && !page->out->error; i++)
            put_summary(page, &list->functions[i]);
}

static int write_lines(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct dw_line_list list;
    struct dw_out text;
    struct page page = {
        .list = &list, .options = options->lines ? options->lines : &dw_line_defaults, .out = out};
    page.are_counts = dw_samples_are_counts(profile);
    int error = dw_line_list_make(profile, page.options, &list);
    if (error)
        return error;
    if (page.options->heat) {
        dw_out_init_memory(&text);
        page.out = &text;
        page.html = out;
        dw_out_text(out, HEAT_BEGIN);
    }
    dw_notes_put_sampling(page.out, profile, "");
    put_all(&page);
    dw_notes_put_losses(page.out, profile, "");
    if (page.html) {
        drain(&page, 0);
        dw_out_text(out, "</pre>");
        error = dw_out_close(&text);
    }
    dw_line_list_release(&list);
    return error;
}

const struct dw_lens dw_lens_lines = {
    .name = "lines",
    .summary = "the source with what was measured on its lines",
    .shows_lines = true,
    .shows_places = true,
    .write = write_lines,
};
