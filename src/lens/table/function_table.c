/* SPDX-License-Identifier: MIT
 * Functions for people, in the very layout of pstats: print_stats, print_callers
 * and print_callees. */
#include "lens/view/function_list.h"
#include "lens/view/notes.h"

#include <inttypes.h>
#include <stdio.h>

struct page {
    struct dw_function_list list;
    size_t width; /* of the column of labels */
    struct dw_out *out;
};

static void put_label(struct page *page, uint32_t function)
{
    const char *label = dw_function_list_label(&page->list, function);
    dw_out_printable(page->out, label, strlen(label));
}

/* "3", or "3/1" when some of them were inside others; at least `width` wide. */
static void put_calls(struct dw_out *out, const struct dw_call_sums *sums, int width)
{
    char text[48];
    if (sums->count == sums->primitive)
        snprintf(text, sizeof text, "%" PRIu64, sums->count);
    else
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, sums->count, sums->primitive);
    dw_out_printf(out, "%*s ", width, text);
}

static void put_seconds(struct dw_out *out, uint64_t ns)
{
    dw_out_printf(out, "%8.3f ", (double)ns / 1e9);
}

static void put_per_call(struct dw_out *out, uint64_t ns, uint64_t calls)
{
    if (calls)
        dw_out_printf(out, "%8.3f ", (double)ns / 1e9 / (double)calls);
    else
        dw_out_repeat(out, ' ', 9);
}

static void put_row(struct page *page, uint32_t function)
{
    const struct dw_call_sums *sums = &page->list.functions.functions[function].sums;
    put_calls(page->out, sums, 9);
    put_seconds(page->out, sums->self);
    put_per_call(page->out, sums->self, sums->count);
    put_seconds(page->out, sums->total);
    put_per_call(page->out, sums->total, sums->primitive);
    put_label(page, function);
    dw_out_char(page->out, '\n');
}

static void put_totals(struct dw_out *out, const struct dw_call_sums *all)
{
    dw_out_printf(out, "         %" PRIu64 " function calls ", all->count);
    if (all->count != all->primitive)
        dw_out_printf(out, "(%" PRIu64 " primitive calls) ", all->primitive);
    dw_out_printf(out, "in %.3f seconds\n\n", (double)all->self / 1e9);
}

static void put_message(struct page *page)
{
    const struct dw_buffer *message = &page->list.message.buffer;
    dw_out_write(page->out, message->data, message->size);
    dw_out_char(page->out, '\n');
}

static void put_functions(struct page *page)
{
    put_totals(page->out, &page->list.functions.all);
    put_message(page);
    if (!page->list.count)
        return;
    dw_out_text(page->out, "   ncalls  tottime  percall  cumtime  percall "
                           "filename:lineno(function)\n");
    for (uint32_t i = 0; i < page->list.count && !page->out->error; i++)
        put_row(page, page->list.order[i]);
    dw_out_text(page->out, "\n\n");
}

static size_t label_width(const struct page *page, uint32_t function)
{
    const char *label = dw_function_list_label(&page->list, function);
    return dw_text_width(label, strlen(label));
}

static void measure(struct page *page)
{
    for (uint32_t i = 0; i < page->list.count; i++) {
        size_t width = label_width(page, page->list.order[i]);
        if (width > page->width)
            page->width = width;
    }
    page->width += 2;
}

/* A sample counts once, however often the two stand in its stack. */
static void put_sampled_edge(struct page *page, const struct dw_call_sums *sums, int width)
{
    dw_out_printf(page->out, "%*" PRIu64 " ", width, sums->primitive);
    if (page->list.are_counts) {
        dw_out_printf(page->out, "%8" PRIu64 " %8" PRIu64 "  ", sums->self, sums->total);
        return;
    }
    put_seconds(page->out, sums->self);
    dw_out_printf(page->out, "%8.3f  ", (double)sums->total / 1e9);
}

/* The first edge stands beside the function, the others under it. */
static void put_edge(struct page *page, const struct dw_call_edge *edge, bool callers, bool first)
{
    int width = first ? 7 : 9;
    if (!first)
        dw_out_repeat(page->out, ' ', page->width + 1);
    if (page->list.are_samples) {
        put_sampled_edge(page, &edge->sums, width);
    } else {
        put_calls(page->out, &edge->sums, width);
        put_seconds(page->out, edge->sums.self);
        dw_out_printf(page->out, "%8.3f  ", (double)edge->sums.total / 1e9);
    }
    put_label(page, callers ? edge->caller : edge->callee);
    dw_out_char(page->out, '\n');
}

static void put_edges(struct page *page, uint32_t function, bool callers)
{
    const struct dw_functions *functions = &page->list.functions;
    const struct dw_function_edges *edges = callers ? &functions->callers : &functions->callees;
    uint32_t start = edges->start[function], end = edges->start[function + 1];
    put_label(page, function);
    dw_out_repeat(page->out, ' ', page->width - label_width(page, function));
    dw_out_text(page->out, callers ? "<- " : "-> ");
    for (uint32_t i = start; i < end; i++)
        put_edge(page, &edges->edges[i], callers, i == start);
    if (start == end)
        dw_out_char(page->out, '\n');
}

static const char *edge_columns(const struct dw_function_list *list)
{
    if (!list->are_samples)
        return "    ncalls  tottime  cumtime\n";
    return list->are_counts ? "   samples     self    total\n" : "   samples   self s  total s\n";
}

static void put_neighbours(struct page *page, bool callers)
{
    put_message(page);
    if (!page->list.count)
        return;
    dw_out_text(page->out, "Function ");
    dw_out_repeat(page->out, ' ', page->width > 9 ? page->width - 9 : 0);
    dw_out_text(page->out, callers ? "was called by...\n" : "called...\n");
    if (page->list.functions.edge_count) {
        dw_out_repeat(page->out, ' ', page->width);
        dw_out_text(page->out, edge_columns(&page->list));
    }
    for (uint32_t i = 0; i < page->list.count && !page->out->error; i++)
        put_edges(page, page->list.order[i], callers);
    dw_out_text(page->out, "\n\n");
}

static int write_function_table(const struct dw_profile *profile,
                                const struct dw_lens_options *options, struct dw_out *out)
{
    struct page page = {.out = out};
    const struct dw_function_options *wanted = options->functions;
    int error = dw_function_list_make(profile, options->family, wanted, &page.list);
    if (error)
        return error;
    measure(&page);
    if (page.list.are_samples)
        dw_notes_put_sampling(out, profile, "");
    if (!wanted->callers && !wanted->callees)
        put_functions(&page);
    if (wanted->callers)
        put_neighbours(&page, true);
    if (wanted->callees)
        put_neighbours(&page, false);
    dw_notes_put_losses(out, profile, "");
    dw_function_list_release(&page.list);
    return 0;
}

const struct dw_lens dw_function_table = {.name = "table", .write = write_function_table};
