/* SPDX-License-Identifier: MIT
 * The page gets the metrics as they are and the columns as a description, and works out
 * shares and means itself. */
#include "lens/page/html_lines.h"

#include "lens/view/line_column.h"
#include "lens/view/stack_tree.h"

#include <inttypes.h>

#define PAGE_METRICS DW_LINE_MEMORY /* memory is not on the page */

struct data {
    struct dw_out *out;
    struct dw_out scratch; /* a function's text, before '<' is taken out of it */
    const struct dw_line_list *list;
};

/* A script element ends at the next tag of its name. */
void dw_html_put_json(struct dw_out *out, const void *json, size_t size)
{
    const uint8_t *at = json, *end = at ? at + size : at, *mark;
    while (at < end && (mark = memchr(at, '<', (size_t)(end - at)))) {
        dw_out_write(out, at, (size_t)(mark - at));
        dw_out_text(out, "\\u003c");
        at = mark + 1;
    }
    dw_out_write(out, at, (size_t)(end - at));
}

static void put_columns(struct dw_out *out)
{
    static const char *const forms[] = {
        [DW_LINE_FORM_COUNT] = "count",
        [DW_LINE_FORM_TIME] = "time",
        [DW_LINE_FORM_PER_HIT] = "per_hit",
        [DW_LINE_FORM_SHARE] = "share",
    };
    const struct dw_line_column *column;
    dw_out_text(out, "\"columns\":[");
    for (size_t i = 0; (column = dw_line_column_at(i)) && column->metric < PAGE_METRICS; i++)
        dw_out_printf(out,
                      "%s{\"id\":\"%s\",\"label\":\"%s\",\"metric\":%d,\"form\":\"%s\","
                      "\"always\":%s,\"about\":\"%s\"}",
                      i ? ",\n" : "", column->id, column->heading, (int)column->metric,
                      forms[column->form], column->sparse ? "false" : "true", column->about);
    dw_out_char(out, ']');
}

static void put_values(struct dw_out *out, const uint64_t values[DW_LINE_METRICS])
{
    for (size_t i = 0; i < PAGE_METRICS; i++) {
        dw_out_text(out, i ? "," : "");
        dw_out_u64(out, values[i]);
    }
}

/* [number, text, values, callees]: the text, and the values of a line without code, may be null. */
static void put_line(struct dw_out *out, const struct dw_line_entry *entry)
{
    dw_out_printf(out, "[%" PRIu32 ",", entry->number);
    if (entry->text.bytes)
        dw_out_json_string(out, entry->text.bytes, entry->text.size);
    else
        dw_out_text(out, "null");
    dw_out_text(out, entry->measured ? ",[" : ",null,[");
    if (entry->measured) {
        put_values(out, entry->measured->values);
        dw_out_text(out, "],[");
    }
    for (uint32_t i = 0; i < entry->callee_count; i++) {
        dw_out_printf(out, "%s{\"frame\":%" PRIu32 ",\"values\":[", i ? "," : "",
                      entry->callees[i]->callee);
        put_values(out, entry->callees[i]->values);
        dw_out_text(out, "]}");
    }
    dw_out_text(out, "]]");
}

/* The columns that the function has beside those that all have. */
static void put_present(struct dw_out *out, const struct dw_line_listing *function)
{
    const struct dw_line_column *column;
    bool first = true;
    dw_out_text(out, ",\"columns\":[");
    for (size_t i = 0; (column = dw_line_column_at(i)) && column->metric < PAGE_METRICS; i++) {
        if (!dw_line_column_is_present(column, function))
            continue;
        dw_out_printf(out, "%s%zu", first ? "" : ",", i);
        first = false;
    }
    dw_out_char(out, ']');
}

static void put_function(struct data *data, const struct dw_line_listing *function)
{
    struct dw_out *out = &data->scratch;
    dw_buffer_clear(&out->buffer);
    dw_out_printf(out, "{\"frame\":%" PRIu32 ",\"calls\":", function->frame);
    if (function->calls_known)
        dw_out_u64(out, function->calls);
    else
        dw_out_text(out, "null");
    dw_out_printf(out, ",\"note\":\"%s\",\"totals\":[", dw_line_source_note(function->source));
    put_values(out, function->totals);
    dw_out_char(out, ']');
    put_present(out, function);
    dw_out_text(out, ",\"lines\":[");
    for (uint32_t i = 0; i < function->count; i++) {
        dw_out_text(out, i ? ",\n" : "\n");
        put_line(out, &data->list->entries[function->first + i]);
    }
    dw_out_text(out, "]}");
    dw_html_put_json(data->out, out->buffer.data, out->buffer.size);
}

int dw_html_put_lines(struct dw_out *out, const struct dw_profile *profile)
{
    struct dw_line_list list;
    if (!dw_lines_are_in(profile) || dw_samples_are_counts(profile))
        return 0; /* the page would tell numbers of samples as times */
    int error = dw_line_list_make(profile, NULL, &list);
    if (error)
        return error;
    struct data data = {.out = out, .list = &list};
    dw_out_init_memory(&data.scratch);
    dw_out_text(out, ",\n\"lines\":{");
    put_columns(out);
    dw_out_text(out, ",\n\"functions\":[");
    for (uint32_t i = 0; i < list.count && !out->error; i++) {
        dw_out_text(out, i ? ",\n" : "");
        put_function(&data, &list.functions[i]);
    }
    dw_out_text(out, "]}");
    dw_line_list_release(&list);
    return dw_out_close(&data.scratch);
}
