/* SPDX-License-Identifier: MIT
 * The rows of function_table.c as data: CSV with seconds, JSON with nanoseconds. */
#include "lens/view/function_list.h"
#include "lens/view/notes.h"

#include <inttypes.h>

static void put_seconds(struct dw_out *out, uint64_t ns)
{
    dw_out_printf(out, ",%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_per_call(struct dw_out *out, uint64_t ns, uint64_t calls)
{
    if (calls)
        dw_out_printf(out, ",%.9f", (double)ns / 1e9 / (double)calls);
    else
        dw_out_char(out, ',');
}

static void put_csv_name(struct dw_out *out, const struct dw_function *function)
{
    if (function->file.size)
        dw_out_csv_field(out, function->file.bytes, function->file.size);
    dw_out_printf(out, ",%u,", function->line);
    if (function->name.size)
        dw_out_csv_field(out, function->name.bytes, function->name.size);
}

static void put_csv_function(struct dw_out *out, const struct dw_function *function)
{
    const struct dw_call_sums *sums = &function->sums;
    put_csv_name(out, function);
    dw_out_printf(out, ",%" PRIu64 ",%" PRIu64, sums->count, sums->primitive);
    put_seconds(out, sums->self);
    put_per_call(out, sums->self, sums->count);
    put_seconds(out, sums->total);
    put_per_call(out, sums->total, sums->primitive);
    dw_out_char(out, '\n');
}

static void put_csv_functions(struct dw_out *out, const struct dw_function_list *list)
{
    dw_out_text(out, "filename,lineno,function,ncalls,pcalls,tottime,tottime_percall,cumtime,"
                     "cumtime_percall\n");
    for (uint32_t i = 0; i < list->count && !out->error; i++)
        put_csv_function(out, &list->functions.functions[list->order[i]]);
}

/* Samples stand for no known time when they are counts. */
static void put_sampled_time(struct dw_out *out, const struct dw_function_list *list, uint64_t ns)
{
    if (list->are_counts)
        dw_out_char(out, ',');
    else
        put_seconds(out, ns);
}

static void put_csv_edge(struct dw_out *out, const struct dw_function_list *list,
                         const struct dw_call_edge *edge)
{
    const struct dw_function *functions = list->functions.functions;
    const struct dw_call_sums *sums = &edge->sums;
    put_csv_name(out, &functions[edge->caller]);
    dw_out_char(out, ',');
    put_csv_name(out, &functions[edge->callee]);
    if (list->are_samples) {
        dw_out_printf(out, ",%" PRIu64, sums->primitive);
        put_sampled_time(out, list, sums->self);
        put_sampled_time(out, list, sums->total);
    } else {
        dw_out_printf(out, ",%" PRIu64 ",%" PRIu64, sums->count, sums->primitive);
        put_seconds(out, sums->self);
        put_seconds(out, sums->total);
    }
    dw_out_char(out, '\n');
}

static void put_csv_edges(struct dw_out *out, const struct dw_function_list *list,
                          const struct dw_function_edges *edges)
{
    for (uint32_t i = 0; i < list->count && !out->error; i++) {
        uint32_t function = list->order[i];
        for (uint32_t e = edges->start[function]; e < edges->start[function + 1]; e++)
            put_csv_edge(out, list, &edges->edges[e]);
    }
}

static int write_csv(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct dw_function_list list;
    const struct dw_function_options *wanted = options->functions;
    int error = dw_function_list_make(profile, options->family, wanted, &list);
    if (error)
        return error;
    if (wanted->callers || wanted->callees)
        dw_out_printf(out,
                      "caller_filename,caller_lineno,caller,callee_filename,callee_lineno,"
                      "callee,%s\n",
                      list.are_samples ? "samples,self,total" : "ncalls,pcalls,tottime,cumtime");
    else
        put_csv_functions(out, &list);
    if (wanted->callers)
        put_csv_edges(out, &list, &list.functions.callers);
    if (wanted->callees)
        put_csv_edges(out, &list, &list.functions.callees);
    dw_function_list_release(&list);
    return 0;
}

static void put_json_name(struct dw_out *out, const struct dw_function *function)
{
    dw_out_text(out, "{\"file\": ");
    dw_out_json_string(out, function->file.bytes, function->file.size);
    dw_out_printf(out, ", \"line\": %u, \"name\": ", function->line);
    dw_out_json_string(out, function->name.bytes, function->name.size);
}

static void put_json_sampled(struct dw_out *out, const struct dw_function_list *list,
                             const struct dw_call_sums *sums)
{
    dw_out_printf(out, ", \"samples\": %" PRIu64, sums->primitive);
    if (list->are_counts)
        dw_out_text(out, ", \"self_ns\": null, \"total_ns\": null");
    else
        dw_out_printf(out, ", \"self_ns\": %" PRIu64 ", \"total_ns\": %" PRIu64, sums->self,
                      sums->total);
}

static void put_json_sums(struct dw_out *out, const struct dw_function_list *list,
                          const struct dw_call_sums *sums)
{
    if (list->are_samples) {
        put_json_sampled(out, list, sums);
        return;
    }
    dw_out_printf(out,
                  ", \"ncalls\": %" PRIu64 ", \"pcalls\": %" PRIu64 ", \"tottime_ns\": %" PRIu64
                  ", \"cumtime_ns\": %" PRIu64,
                  sums->count, sums->primitive, sums->self, sums->total);
}

static void put_json_edges(struct dw_out *out, const struct dw_function_list *list,
                           uint32_t function, bool callers)
{
    const struct dw_functions *functions = &list->functions;
    const struct dw_function_edges *edges = callers ? &functions->callers : &functions->callees;
    dw_out_printf(out, ", \"%s\": [", callers ? "callers" : "callees");
    for (uint32_t i = edges->start[function]; i < edges->start[function + 1]; i++) {
        const struct dw_call_edge *edge = &edges->edges[i];
        dw_out_text(out, i > edges->start[function] ? ", " : "");
        put_json_name(out, &functions->functions[callers ? edge->caller : edge->callee]);
        put_json_sums(out, list, &edge->sums);
        dw_out_char(out, '}');
    }
    dw_out_char(out, ']');
}

static void put_json_function(struct dw_out *out, const struct dw_function_list *list,
                              uint32_t function, const struct dw_function_options *wanted)
{
    const struct dw_functions *functions = &list->functions;
    put_json_name(out, &functions->functions[function]);
    put_json_sums(out, list, &functions->functions[function].sums);
    if (wanted->callers)
        put_json_edges(out, list, function, true);
    if (wanted->callees)
        put_json_edges(out, list, function, false);
    dw_out_char(out, '}');
}

static void put_json_head(struct dw_out *out, const struct dw_profile *profile,
                          const struct dw_function_list *list)
{
    const struct dw_call_sums *all = &list->functions.all;
    dw_out_text(out, "{\n  \"dwell\": \"" DW_VERSION "\"");
    if (list->are_samples)
        dw_notes_put_json_sampling(out, profile);
    else
        dw_out_printf(out,
                      ",\n  \"calls\": %" PRIu64 ",\n  \"primitive_calls\": %" PRIu64
                      ",\n  \"total_ns\": %" PRIu64,
                      all->count, all->primitive, all->self);
}

static void put_json(struct dw_out *out, const struct dw_profile *profile,
                     const struct dw_function_list *list, const struct dw_function_options *wanted)
{
    put_json_head(out, profile, list);
    dw_out_text(out, ",\n  \"functions\": [");
    for (uint32_t i = 0; i < list->count && !out->error; i++) {
        dw_out_text(out, i ? ",\n    " : "\n    ");
        put_json_function(out, list, list->order[i], wanted);
    }
    dw_out_printf(out, "],\n  \"functions_left_out\": %u", list->functions.count - list->count);
    dw_notes_put_json_losses(out, profile);
    dw_out_text(out, "\n}\n");
}

static int write_json(const struct dw_profile *profile, const struct dw_lens_options *options,
                      struct dw_out *out)
{
    struct dw_function_list list;
    int error = dw_function_list_make(profile, options->family, options->functions, &list);
    if (error)
        return error;
    put_json(out, profile, &list, options->functions);
    dw_function_list_release(&list);
    return 0;
}

const struct dw_lens dw_function_csv = {.name = "csv", .lacks_notes = true, .write = write_csv};
const struct dw_lens dw_function_json = {.name = "json", .write = write_json};
