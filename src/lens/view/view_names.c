/* SPDX-License-Identifier: MIT
 * What the rows of a view are called. Files are as short as tells the rows apart. */
#include "lens/view/view.h"

#include "base/error.h"
#include "lens/view/functions.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"
#include "model/extension_names.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct dw_string nothing = {"", 0};

struct dw_view_where dw_view_where(const struct dw_view *view, const struct dw_view_row *row)
{
    const struct dw_profile *profile = view->profile;
    struct dw_view_where where = {nothing, nothing, nothing, 0};
    if (!row->place)
        return where;
    const struct dw_frame *frame = dw_place_frame(profile, row->place);
    where.module = dw_place_module(profile, row->place);
    where.name = dw_profile_string(profile, frame->name);
    where.file = dw_place_source(profile, row->place);
    switch (view->keys[view->place_key]->part) {
    case DW_KEY_LINE: where.line = row->place->line; break;
    case DW_KEY_FUNCTION: where.line = frame->line; break;
    case DW_KEY_TYPE:
    case DW_KEY_OBJECT: break;
    case DW_KEY_MODULE:
        where.file = where.module.size ? nothing : where.file;
        where.name = frame->file || where.module.size ? nothing : where.name;
    }
    return where;
}

static void put_string(struct dw_out *out, struct dw_string string)
{
    dw_out_printable(out, string.bytes, string.size);
}

/* "x.py:12" or "libm.so.6"; nothing when neither is known. */
static void put_where(struct dw_out *out, const struct dw_function *shown)
{
    put_string(out, shown->file);
    if (shown->file.size && shown->line)
        dw_out_printf(out, ":%" PRIu32, shown->line);
}

static void put_function(struct dw_out *out, const struct dw_frame *frame,
                         const struct dw_function *shown, bool full_paths)
{
    put_string(out, shown->name);
    bool is_object = frame->kind == DW_FRAME_NATIVE &&
                     (*shown->name.bytes == '[' || /* "[libz.so]" */
                      dw_extension_has_name(shown->file.bytes, shown->name.bytes));
    if (!frame->file || (is_object && !full_paths))
        return;
    dw_out_text(out, " (");
    put_where(out, shown);
    dw_out_char(out, ')');
}

static void put_line(struct dw_out *out, const struct dw_function *shown)
{
    put_where(out, shown);
    dw_out_text(out, shown->file.size ? " (" : "");
    put_string(out, shown->name);
    dw_out_text(out, shown->file.size ? ")" : "");
}

/* Says of samples when most of their time, or some of it, was that of idle threads. */
static void put_idle(struct dw_out *out, const struct dw_view *view, const struct dw_view_row *row)
{
    uint64_t idle = dw_view_part(view, row, DW_VIEW_IDLE)->total;
    if (!idle || view->weight >= view->options.measure_count)
        return;
    uint64_t total = row->numbers[view->weight].total;
    dw_out_text(out, total - idle <= total / DW_IDLE_RUNS ? " (idle)" : " (partly idle)");
}

static void put_place(struct dw_out *out, const struct dw_view *view, const struct dw_view_row *row,
                      const struct dw_function *shown)
{
    switch (view->keys[view->place_key]->part) {
    case DW_KEY_FUNCTION:
        put_function(out, dw_place_frame(view->profile, row->place), shown,
                     view->options.full_paths);
        break;
    case DW_KEY_LINE: put_line(out, shown); break;
    case DW_KEY_MODULE: put_string(out, shown->file); break;
    case DW_KEY_TYPE:
    case DW_KEY_OBJECT: put_string(out, shown->name); break;
    }
    put_idle(out, view, row);
}

/* What the name of a place is made of. */
static struct dw_function shown_of(const struct dw_view *view, const struct dw_view_row *row)
{
    const struct dw_profile *profile = view->profile;
    struct dw_view_where where = dw_view_where(view, row);
    if (view->keys[view->place_key]->part == DW_KEY_MODULE)
        return (struct dw_function){
            .file = dw_profile_string(profile, dw_place_module_name(profile, row->place))};
    bool has_file = where.file.size;
    return (struct dw_function){.file = has_file ? where.file : where.module,
                                .line = has_file ? where.line : 0,
                                .name = where.name};
}

/* Of all rows; NULL when out of memory. There are many __init__.py, so these always have their
 * package. */
static struct dw_function *make_shown(const struct dw_view *view)
{
    struct dw_function *shown = calloc(view->count + 1u, sizeof *shown);
    bool failed = !shown;
    for (uint32_t i = 0; !failed && i < view->count; i++)
        shown[i] = shown_of(view, &view->rows[i]);
    if (!failed && !view->options.full_paths)
        failed = dw_functions_strip_dirs(shown, sizeof *shown, view->count) != 0;
    for (uint32_t i = 0; !failed && !view->options.full_paths && i < view->count; i++) {
        struct dw_string file = dw_file_short(shown_of(view, &view->rows[i]).file);
        shown[i].file = file.size > shown[i].file.size ? file : shown[i].file;
    }
    if (!failed)
        return shown;
    free(shown);
    return NULL;
}

static void put_names(struct dw_view *view, const struct dw_function *shown, size_t *starts)
{
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = 0; k < view->options.key_count; k++) {
            *starts++ = view->names.buffer.size;
            if (shown && view->keys[k]->of_place)
                put_place(&view->names, view, &view->rows[i], &shown[i]);
            else if (view->keys[k]->put)
                view->keys[k]->put(&view->names, view->profile, view->rows[i].keys[k]);
            dw_out_char(&view->names, '\0');
        }
}

int dw_view_name_rows(struct dw_view *view)
{
    size_t *starts = calloc((size_t)view->count * view->options.key_count + 1u, sizeof *starts);
    struct dw_function *shown = view->place_key >= 0 ? make_shown(view) : NULL;
    bool failed = !starts || (view->place_key >= 0 && !shown);
    if (!failed)
        put_names(view, shown, starts);
    failed = failed || view->names.error || view->names.buffer.failed;
    const size_t *at = starts;
    for (uint32_t i = 0; i < view->count && !failed; i++)
        for (uint32_t k = 0; k < view->options.key_count; k++)
            view->rows[i].names[k] = (const char *)view->names.buffer.data + *at++;
    free(starts);
    free(shown);
    return failed ? DW_ERR_MEMORY : 0;
}
