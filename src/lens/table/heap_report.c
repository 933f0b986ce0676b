/* SPDX-License-Identifier: MIT
 * What is alive by type, in the columns of guppy, with what objects retain. */
#include "lens/table/view_report.h"

#include <inttypes.h>

enum { OBJECTS, BYTES }; /* the measures of the view, in this order */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* What objects retain together is known where types, or single objects, are all that is told apart.
 */
static bool has_retained(const struct dw_view *view)
{
    return view->options.key_count == 1 && view->place_key >= 0;
}

static bool is_of_objects(const struct dw_view *view)
{
    return view->keys[0]->part == DW_KEY_OBJECT && has_retained(view);
}

static void put_names(struct dw_out *out, const struct dw_view *view, const struct dw_view_row *row)
{
    for (uint32_t k = 0; k < view->options.key_count; k++)
        dw_out_printf(out, "%s%s", k ? "  " : " ", row->names[k]);
    dw_out_char(out, '\n');
}

static void put_rows(struct dw_out *out, const struct dw_view *view)
{
    uint64_t cumulative = 0;
    for (uint32_t i = 0; i < view->count && !out->error; i++) {
        const struct dw_view_row *row = &view->rows[i];
        uint64_t count = row->numbers[OBJECTS].self, size = row->numbers[BYTES].self;
        cumulative += size;
        dw_out_printf(out,
                      "%6" PRIu32 " %8" PRIu64 " %3.0f %10" PRIu64 " %3.0f %10" PRIu64 " %3.0f", i,
                      count, share(count, view->all[OBJECTS]), size, share(size, view->all[BYTES]),
                      cumulative, share(cumulative, view->all[BYTES]));
        if (has_retained(view))
            dw_out_printf(out, " %10" PRIu64, row->numbers[BYTES].total);
        put_names(out, view, row);
    }
}

static void put_objects(struct dw_out *out, const struct dw_view *view)
{
    dw_out_text(out, "  Retained   % Object\n");
    for (uint32_t i = 0; i < view->count && !out->error; i++) {
        uint64_t retained = view->rows[i].numbers[BYTES].total;
        dw_out_printf(out, "%10" PRIu64 " %3.0f", retained, share(retained, view->all[BYTES]));
        put_names(out, view, &view->rows[i]);
    }
}

static void put_head(struct dw_out *out, const struct dw_view *view)
{
    dw_out_text(out, " Index    Count   %       Size   % Cumulative   %");
    dw_out_text(out, has_retained(view) ? "   Retained" : "");
    for (uint32_t k = 0; k < view->options.key_count; k++) {
        bool is_type = view->keys[k]->of_place && view->keys[k]->part == DW_KEY_TYPE;
        dw_out_printf(out, "%s%s", k ? "  " : " ", is_type ? "Kind" : view->options.keys[k]);
    }
    dw_out_char(out, '\n');
}

static int write_heap(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_view view;
    int error = dw_view_make(profile, options->view, &view);
    if (error)
        return error;
    dw_out_printf(out,
                  "Partition of a set of %" PRIu64 " objects. Total size = %" PRIu64 " bytes.\n",
                  view.all[OBJECTS], view.all[BYTES]);
    if (is_of_objects(&view)) {
        put_objects(out, &view);
    } else {
        put_head(out, &view);
        put_rows(out, &view);
    }
    if (view.left_out)
        dw_out_printf(out, "<%" PRIu32 " more rows>\n", view.left_out);
    dw_view_release(&view);
    return 0;
}

const struct dw_lens dw_heap_table = {.name = "table", .write = write_heap};
