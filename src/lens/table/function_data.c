/* SPDX-License-Identifier: MIT
 * Callers and callees as data: a row for each two functions. Functions alone are a view. */
#include "lens/table/data.h"
#include "lens/view/function_list.h"

/* "caller", "caller_file" and "caller_lineno", or those of the callee. */
static void put_end(struct dw_data *data, const struct dw_function_list *list, bool is_caller,
                    uint32_t index)
{
    static const char *const names[2][3] = {{"callee", "callee_file", "callee_lineno"},
                                            {"caller", "caller_file", "caller_lineno"}};
    const struct dw_function *function = &list->functions.functions[index];
    dw_data_text(data, names[is_caller][0], function->name);
    dw_data_text(data, names[is_caller][1], function->file);
    dw_data_number(data, names[is_caller][2], function->line);
}

/* A sample counts once, however often the two stand in its stack. */
static void put_edge(struct dw_data *data, const struct dw_function_list *list,
                     const struct dw_call_edge *edge, enum dw_measure time)
{
    const struct dw_call_sums *sums = &edge->sums;
    dw_data_row(data);
    put_end(data, list, true, edge->caller);
    put_end(data, list, false, edge->callee);
    if (time != DW_SAMPLES)
        dw_data_pair(data, dw_measures[time].name, sums->total, sums->self);
    if (list->are_samples) {
        dw_data_pair(data, "samples", sums->primitive, list->are_counts ? sums->self : sums->count);
        return;
    }
    dw_data_number(data, "calls", sums->count);
    dw_data_number(data, "primitive_calls", sums->primitive);
}

static void put_edges(struct dw_data *data, const struct dw_function_list *list,
                      const struct dw_function_edges *edges, enum dw_measure time)
{
    for (uint32_t i = 0; i < list->count && !data->out->error; i++) {
        uint32_t function = list->order[i];
        for (uint32_t e = edges->start[function]; e < edges->start[function + 1]; e++)
            put_edge(data, list, &edges->edges[e], time);
    }
}

static int write_data(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out, bool is_csv)
{
    static const char *const keys[] = {"caller", "callee"};
    const struct dw_function_options *wanted = options->functions;
    struct dw_function_list list;
    struct dw_data data;
    int error = dw_function_list_make(profile, options->family, wanted, &list);
    if (error)
        return error;
    enum dw_measure time = list.are_samples ? dw_samples_weight(profile) : DW_CALL_TOTAL;
    enum dw_measure count = list.are_samples ? DW_SAMPLES : DW_CALLS;
    const struct dw_data_measure measures[] = {
        {dw_measures[count].name, dw_measures[count].meaning, DW_UNIT_COUNT, NULL},
        {dw_measures[time].name, dw_measures[time].meaning, DW_UNIT_NS, &list.functions.all.self}};
    dw_data_begin(&data, out, is_csv);
    dw_data_keys(&data, keys, 2);
    dw_data_measures(&data, measures, time == DW_SAMPLES ? 1 : 2);
    if (wanted->callers)
        put_edges(&data, &list, &list.functions.callers, time);
    if (wanted->callees)
        put_edges(&data, &list, &list.functions.callees, time);
    dw_data_end(&data, profile, list.functions.count - list.count, list.are_samples);
    dw_function_list_release(&list);
    return 0;
}

DW_DATA_LENSES(dw_function, write_data);
