/* SPDX-License-Identifier: MIT
 * Writes the usual report to memory first, and counts its lines to see whether the screen has
 * room. */
#include "cli/run/run_lines.h"

#include "base/order.h"
#include "cli/cli.h"
#include "lens/table/fit.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define HEADING_LINES 9 /* of a report of one function */
#define NUMBERS_WIDTH 32

/* A line that took time, and the function that it is in. */
struct hot_line {
    const struct dw_line_listing *function;
    const struct dw_line_entry *entry;
    uint64_t ns;
};

static size_t count_lines(const struct dw_buffer *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->size; i++)
        count += text->data[i] == '\n';
    return count;
}

static int by_time(const void *a, const void *b)
{
    const struct hot_line *left = a, *right = b;
    return dw_ascending(right->ns, left->ns)
               ?: dw_ascending((uintptr_t)left->entry, (uintptr_t)right->entry);
}

static uint64_t time_of(const struct dw_line *line)
{
    return line->values[DW_LINE_TIME] ? line->values[DW_LINE_TIME] : line->values[DW_LINE_TOTAL];
}

/* The caller provides room for all entries. */
static size_t collect(const struct dw_line_list *list, struct hot_line *lines)
{
    size_t count = 0;
    for (uint32_t f = 0; f < list->count; f++) {
        const struct dw_line_listing *function = &list->functions[f];
        for (uint32_t i = 0; i < function->count; i++) {
            const struct dw_line_entry *entry = &list->entries[function->first + i];
            if (entry->measured && entry->measured->values[DW_LINE_HITS])
                lines[count++] = (struct hot_line){function, entry, time_of(entry->measured)};
        }
    }
    qsort(lines, count, sizeof *lines, by_time);
    return count;
}

static void put_label(struct dw_out *out, const struct hot_line *line)
{
    struct dw_string file = dw_file_short(line->function->file), name = line->function->name;
    struct dw_string text = line->entry->text;
    dw_out_printf(out, "%.*s:%" PRIu32 " (%.*s)  ", (int)file.size, file.bytes, line->entry->number,
                  (int)name.size, name.bytes);
    while (text.size && (*text.bytes == ' ' || *text.bytes == '\t'))
        text.bytes++, text.size--;
    dw_out_write(out, text.bytes, text.size);
}

static void put_line(struct dw_out *out, const struct hot_line *line, size_t width)
{
    struct dw_out label;
    uint64_t whole_ns = dw_line_listing_time(line->function);
    dw_out_printf(out, "%9.3f %9.1f %10" PRIu64 "  ", (double)line->ns / 1e9,
                  whole_ns ? 100 * (double)line->ns / (double)whole_ns : 0,
                  line->entry->measured->values[DW_LINE_HITS]);
    dw_out_init_memory(&label);
    put_label(&label, line);
    dw_fit_put(out, label.buffer.data, label.buffer.size,
               width > 2 * NUMBERS_WIDTH ? width - NUMBERS_WIDTH : 0);
    dw_out_close(&label);
    dw_out_char(out, '\n');
}

static void put_hottest(struct dw_out *out, const struct dw_profile *profile,
                        const struct dw_line_options *options, size_t rows)
{
    struct dw_line_list list;
    if (dw_line_list_make(profile, options, &list))
        return;
    struct hot_line *lines = malloc((list.entry_count + 1u) * sizeof *lines);
    size_t count = lines ? collect(&list, lines) : 0;
    dw_out_text(out, "   time s    % func       hits  line\n");
    for (size_t i = 0; i < count && i < rows; i++)
        put_line(out, &lines[i], dw_cli_width(STDERR_FILENO));
    if (count > rows)
        dw_out_printf(out, "(%zu more)\n", count - rows);
    dw_notes_put_losses(out, profile, "");
    free(lines);
    dw_line_list_release(&list);
}

void dw_run_put_lines(struct dw_out *out, const struct dw_profile *profile, bool callees,
                      size_t rows)
{
    struct dw_out whole;
    struct dw_line_options lines = dw_line_defaults;
    struct dw_lens_options options = {.lines = &lines};
    lines.strip_zeros = true;
    lines.callees = callees;
    dw_out_init_memory(&whole);
    dw_lens_lines.write(profile, &options, &whole);
    if (count_lines(&whole.buffer) <= rows + HEADING_LINES)
        dw_out_write(out, whole.buffer.data, whole.buffer.size);
    else
        put_hottest(out, profile, &lines, rows);
    dw_out_close(&whole);
}
