/* SPDX-License-Identifier: MIT
 * The call graph for Graphviz, drawn as gprof2dot draws it: the redder a function,
 * the larger its share of the time, with callees. Functions under 0.5 % and calls
 * under 0.1 % of the time are left out. */
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"

#include <inttypes.h>
#include <math.h>

#define NODE_SHARE 0.005
#define EDGE_SHARE 0.001
#define TEXT_MAX 4096 /* bytes of a name; dot gives up on strings of 16 KiB */

struct drawing {
    struct dw_functions functions;
    double total;
    struct dw_out scratch;
    struct dw_out *out;
};

static double share(const struct drawing *drawing, uint64_t ns)
{
    return drawing->total > 0 ? (double)ns / drawing->total : 0;
}

static bool is_drawn(const struct drawing *drawing, uint32_t function)
{
    return share(drawing, drawing->functions.functions[function].sums.total) >= NODE_SHARE;
}

static bool is_edge_drawn(const struct drawing *drawing, const struct dw_call_edge *edge)
{
    return share(drawing, edge->sums.total) >= EDGE_SHARE && is_drawn(drawing, edge->caller) &&
           is_drawn(drawing, edge->callee);
}

/* One channel of a colour in HSL, by the formula of CSS. */
static unsigned channel(double low, double high, double hue)
{
    hue -= floor(hue);
    double value = hue * 6 < 1   ? low + (high - low) * hue * 6
                   : hue * 2 < 1 ? high
                   : hue * 3 < 2 ? low + (high - low) * (2.0 / 3 - hue) * 6
                                 : low;
    return (unsigned)lrint(255 * value);
}

/* From dark blue for nothing to red for all. */
static void put_colour(struct dw_out *out, double weight)
{
    weight = fmin(weight, 1);
    double hue = 2.0 / 3 * (1 - weight);
    double saturation = 0.80 + 0.20 * weight, lightness = 0.25 + 0.25 * weight;
    double high = lightness * (saturation + 1), low = lightness * 2 - high;
    dw_out_printf(out, "\"#%02x%02x%02x\"", channel(low, high, hue + 1.0 / 3),
                  channel(low, high, hue), channel(low, high, hue - 1.0 / 3));
}

/* Bytes of the text that are shown: a name is cut between characters. */
static size_t shown_size(const uint8_t *text, size_t size)
{
    if (size <= TEXT_MAX)
        return size;
    size = TEXT_MAX;
    while (size && (text[size] & 0xc0) == 0x80)
        size--;
    return size;
}

/* In a quoted string; Graphviz also replaces HTML's entities. */
static void put_escaped(struct dw_out *out, const uint8_t *text, size_t size)
{
    size_t shown = shown_size(text, size);
    for (size_t i = 0; i < shown; i++) {
        if (text[i] == '&')
            dw_out_text(out, "&amp;");
        else if (text[i] == '"' || text[i] == '\\')
            dw_out_printf(out, "\\%c", text[i]);
        else
            dw_out_char(out, (char)text[i]);
    }
    if (shown < size)
        dw_out_text(out, "…");
}

static void put_text(struct drawing *drawing, const void *bytes, size_t size)
{
    struct dw_out printable;
    dw_out_init_memory(&printable);
    dw_out_printable(&printable, bytes, size);
    put_escaped(drawing->out, printable.buffer.data, printable.buffer.size);
    dw_out_close_into(&printable, drawing->out);
}

static void put_node(struct drawing *drawing, uint32_t index)
{
    const struct dw_function *function = &drawing->functions.functions[index];
    double weight = share(drawing, function->sums.total);
    struct dw_out *out = drawing->out, *scratch = &drawing->scratch;
    dw_buffer_clear(&scratch->buffer);
    dw_function_put_node(scratch, function);
    dw_out_printf(out, "\t%u [color=", index);
    put_colour(out, weight);
    dw_out_text(out, ", fontcolor=\"#ffffff\", fontsize=\"10.00\", label=\"");
    put_text(drawing, scratch->buffer.data, scratch->buffer.size);
    dw_out_printf(out, "\\n%.2f%%\\n(%.2f%%)\\n%" PRIu64 "×\", tooltip=\"", 100 * weight,
                  100 * share(drawing, function->sums.self), function->sums.count);
    put_text(drawing, function->file.bytes, function->file.size);
    dw_out_text(out, "\"];\n");
}

static void put_edge(struct drawing *drawing, const struct dw_call_edge *edge)
{
    struct dw_out *out = drawing->out;
    double weight = share(drawing, edge->sums.total);
    double width = fmax(4 * fmin(weight, 1), 0.5);
    dw_out_printf(out, "\t%u -> %u [arrowsize=\"%.2f\", color=", edge->caller, edge->callee,
                  0.5 * sqrt(width));
    put_colour(out, weight);
    dw_out_text(out, ", fontcolor=");
    put_colour(out, weight);
    dw_out_printf(out,
                  ", fontsize=\"10.00\", label=\"%.2f%%\\n%" PRIu64
                  "×\", labeldistance=\"%.2f\", penwidth=\"%.2f\"];\n",
                  100 * weight, edge->sums.count, width, width);
}

static void put_left_out(struct dw_out *out, uint32_t nodes, uint32_t edges)
{
    if (nodes || edges)
        dw_out_printf(out,
                      "\t// left out: functions under 0.5 %% of the time: %u; "
                      "calls under 0.1 %%, or of those functions: %u\n",
                      nodes, edges);
}

static void put_graph(struct drawing *drawing)
{
    const struct dw_functions *functions = &drawing->functions;
    uint32_t nodes = 0, edges = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        if (is_drawn(drawing, i))
            put_node(drawing, i);
        else
            nodes++;
    }
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        if (is_edge_drawn(drawing, &functions->callees.edges[i]))
            put_edge(drawing, &functions->callees.edges[i]);
        else
            edges++;
    }
    put_left_out(drawing->out, nodes, edges);
}

static int write_dot(const struct dw_profile *profile, const struct dw_lens_options *options,
                     struct dw_out *out)
{
    struct drawing drawing = {.out = out};
    int error = dw_functions_make(profile, options->family, false, true, &drawing.functions);
    if (error)
        return error;
    drawing.total = (double)drawing.functions.all.total;
    dw_out_init_memory(&drawing.scratch);
    dw_out_text(out, "digraph {\n\ttooltip=\" \";\n"
                     "\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];\n"
                     "\tnode [fontcolor=white, fontname=Arial, height=0, shape=box, style=filled, "
                     "width=0];\n"
                     "\tedge [fontname=Arial];\n");
    put_graph(&drawing);
    dw_notes_put_losses(out, profile, "\t// ");
    dw_out_text(out, "}\n");
    dw_functions_release(&drawing.functions);
    return dw_out_close(&drawing.scratch);
}

const struct dw_lens dw_lens_dot = {
    .name = "dot",
    .summary = "the call graph for Graphviz, as gprof2dot draws it",
    .extension = ".dot",
    .lacks_notes = true,
    .write = write_dot,
};
