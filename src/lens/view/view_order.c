/* SPDX-License-Identifier: MIT
 * The order of the rows of a view, and which of them are shown. */
#include "lens/view/view.h"

#include "base/order.h"

#include <stdlib.h>

static int compare_names(const struct dw_view *view, const struct dw_view_row *a,
                         const struct dw_view_row *b)
{
    int order = 0;
    for (uint32_t k = 0; k < view->options.key_count && !order; k++)
        order = strcmp(a->names[k], b->names[k]);
    return order;
}

/* Time of idle threads counts last. */
static int compare_measure(const struct dw_view *view, const struct dw_view_row *a,
                           const struct dw_view_row *b, uint32_t measure)
{
    static const struct dw_view_number none = {0};
    bool is_weight = measure == view->weight, by_self = !view->options.by_total;
    const struct dw_view_number *x = &a->numbers[measure], *y = &b->numbers[measure];
    const struct dw_view_number *u = is_weight ? dw_view_part(view, a, DW_VIEW_IDLE) : &none;
    const struct dw_view_number *v = is_weight ? dw_view_part(view, b, DW_VIEW_IDLE) : &none;
    int by_own = by_self ? dw_ascending(y->self - v->self, x->self - u->self) : 0;
    return by_own ?: dw_ascending(y->total - v->total, x->total - u->total)
           ?: (by_self ? dw_ascending(y->self, x->self) : 0) ?: dw_ascending(y->total, x->total);
}

/* By the measure asked for, then by the others, then by name; a sort by name looks at no measure.
 */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct dw_view *view = context;
    const struct dw_view_row *a = left, *b = right;
    uint32_t first = view->options.sort, count = view->options.measure_count;
    int order = first < count ? compare_measure(view, a, b, first) : 0;
    for (uint32_t i = 0; i < count && first < count && !order; i++)
        order = compare_measure(view, a, b, i);
    if (!order)
        order = compare_names(view, a, b);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Without a restriction: whether the row has something of the first measure itself. */
static bool stays(const struct dw_view *view, const struct dw_view_row *row,
                  const struct dw_restriction *restriction)
{
    for (uint32_t k = 0; restriction && k < view->options.key_count; k++)
        if (dw_restriction_matches(restriction, row->names[k]))
            return true;
    return !restriction && row->numbers[0].self;
}

static uint32_t keep(struct dw_view *view, const struct dw_restriction *restriction)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        if (stays(view, &view->rows[i], restriction))
            view->rows[kept++] = view->rows[i];
        else
            free(view->rows[i].numbers);
    }
    return kept;
}

static void cut_down(struct dw_view *view, const struct dw_restriction *restriction)
{
    uint32_t kept = keep(view, restriction), limit = dw_restriction_limit(restriction, kept);
    for (; kept > limit; view->left_out++)
        free(view->rows[--kept].numbers);
    view->count = kept;
}

void dw_view_choose_rows(struct dw_view *view)
{
    const struct dw_restrictions *restrictions = &view->options.restrictions;
    if (view->options.leaves_out_none)
        view->count = keep(view, NULL);
    if (view->count)
        qsort_r(view->rows, view->count, sizeof *view->rows, compare_rows, view);
    for (uint32_t i = 0; i < restrictions->count; i++)
        cut_down(view, &restrictions->list[i]);
}
