/* SPDX-License-Identifier: MIT
 * Panels below each other on one axis of time: the gauge, the spans of regions, the CPU. Of many
 * readings in one column of pixels the extremes are drawn. */
#include "lens/plot/chart.h"

#include "lens/plot/scale.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WIDTH 960
#define LEFT 80
#define RIGHT 26
#define TOP 64
#define GAUGE_HEIGHT 320
#define LANE_HEIGHT 20
#define CPU_HEIGHT 84
#define GAP 22
#define AXIS_HEIGHT 40
#define LEGEND_LINE 20
#define LEGEND_COLUMNS 3
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define LETTER 7.0 /* how wide one is, about */
#define CUT_NAME 5 /* a name that has no room for so many letters is left out */
#define COLOURS 10
#define TICKS_MAX 20

/* Seen on white as well as on black. */
static const char style[] =
    "<style>\n"
    "text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#444}\n"
    ".title{font-size:16px;font-weight:600;fill:#222}.soft{fill:#777}.peak{font-weight:600;"
    "fill:#222}\n"
    ".page{fill:#fff}.grid{stroke:#e4e4e4;fill:none}.axis{stroke:#999;fill:none}\n"
    ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.area{stroke:none;fill-opacity:.14}\n"
    ".mark{stroke:#444;stroke-dasharray:3 3;fill:none}.dot{fill:#222;stroke:#fff}\n"
    ".all{stroke:#888;stroke-dasharray:5 3}\n"
    ".halo{stroke:#fff;stroke-width:4;stroke-linejoin:round;paint-order:stroke}\n"
    ".c0{stroke:#3b82c4;fill:#3b82c4}.c1{stroke:#e07b39;fill:#e07b39}.c2{stroke:#3a9d5d;"
    "fill:#3a9d5d}\n"
    ".c3{stroke:#c4517a;fill:#c4517a}.c4{stroke:#8a6cc8;fill:#8a6cc8}.c5{stroke:#b08d1e;"
    "fill:#b08d1e}\n"
    ".c6{stroke:#2a9d9d;fill:#2a9d9d}.c7{stroke:#a0665a;fill:#a0665a}.c8{stroke:#7b8794;"
    "fill:#7b8794}\n"
    ".c9{stroke:#d0524a;fill:#d0524a}.line{fill:none}.area{stroke:none}\n"
    ".span{fill-opacity:.16;stroke:none}.ends{fill:none;stroke-width:1.5}\n"
    "@media (prefers-color-scheme:dark){text{fill:#bbb}.title,.peak{fill:#eee}.soft{fill:#999}"
    ".page{fill:#16181c}.grid{stroke:#2e3238}.axis{stroke:#666}.mark{stroke:#bbb}"
    ".dot{fill:#eee;stroke:#16181c}.halo{stroke:#16181c}}\n"
    "</style>\n";

static const char *const colours[COLOURS] = {"c0", "c1", "c2", "c3", "c4",
                                             "c5", "c6", "c7", "c8", "c9"};

struct drawing {
    const struct dw_chart *chart;
    struct dw_out *out;
    double span_ns;                         /* of the window */
    double most;                            /* at the top of the gauge's panel */
    double most_cpu;                        /* the same of the CPU's */
    double gauge_y, lanes_y, cpu_y, bottom; /* where panels begin, and the last one ends */
    bool has_cpu;
};

static double x_of(const struct drawing *drawing, uint64_t time_ns)
{
    double since = (double)time_ns - (double)drawing->chart->from_ns;
    double share = drawing->span_ns > 0 ? since / drawing->span_ns : 0;
    return LEFT + PLOT_WIDTH * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static double y_of(const struct drawing *drawing, double value)
{
    return drawing->gauge_y + GAUGE_HEIGHT * (1 - value / drawing->most);
}

static void put_text(struct drawing *drawing, double x, double y, const char *anchor,
                     const char *class)
{
    dw_out_printf(drawing->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x,
                  y, anchor, class);
}

static void put_name(struct drawing *drawing, const struct dw_curve *curve)
{
    struct dw_out name;
    dw_out_init_memory(&name);
    dw_chart_put_name(&name, drawing->chart, curve);
    dw_out_xml(drawing->out, name.buffer.data, name.buffer.size);
    dw_out_close_into(&name, drawing->out);
}

/* Grid lines and numbers of a panel from 0 to `most`. */
static void put_scale(struct drawing *drawing, double y, double height, double most, double step,
                      enum dw_unit unit, bool is_share)
{
    for (int i = 0; i < TICKS_MAX && i * step <= most * 1.0001; i++) {
        double at = i * step;
        double line = y + height * (1 - at / most);
        dw_out_printf(drawing->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, line,
                      LEFT + PLOT_WIDTH);
        put_text(drawing, LEFT - 8, line + 4, "end", "soft");
        if (is_share)
            dw_out_printf(drawing->out, "%.0f%%", 100 * at);
        else
            dw_put_amount(drawing->out, at, step, unit);
        dw_out_text(drawing->out, "</text>\n");
    }
}

static void put_time_axis(struct drawing *drawing)
{
    const struct dw_chart *chart = drawing->chart;
    double from = (double)(chart->from_ns - chart->start_ns), to = from + drawing->span_ns;
    double step = dw_scale_step(drawing->span_ns, 9, DW_UNIT_NS), first = ceil(from / step) * step;
    for (int i = 0; i < TICKS_MAX && first + i * step <= to * 1.0001; i++) {
        double at = first + i * step;
        double x = LEFT + (drawing->span_ns > 0 ? PLOT_WIDTH * (at - from) / drawing->span_ns : 0);
        dw_out_printf(drawing->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
                      drawing->gauge_y, drawing->bottom);
        put_text(drawing, x, drawing->bottom + 18, "middle", "soft");
        dw_put_moment(drawing->out, at, step);
        dw_out_text(drawing->out, "</text>\n");
    }
}

/* Readings in one column of pixels, or one alone. */
struct column {
    double x;
    double first, least, most, last;
    bool least_first;
};

static void put_column(struct drawing *drawing, const struct column *column, bool begins)
{
    double ys[] = {column->first, column->least_first ? column->least : column->most,
                   column->least_first ? column->most : column->least, column->last};
    double before = NAN;
    for (size_t i = 0; i < sizeof ys / sizeof *ys; i++) {
        if (ys[i] == before)
            continue;
        dw_out_printf(drawing->out, "%s%.1f %.1f", begins ? "M" : "L", column->x,
                      y_of(drawing, ys[i]));
        before = ys[i];
        begins = false;
    }
}

static void widen_column(struct column *column, double value)
{
    if (value < column->least) {
        column->least = value;
        column->least_first = false;
    }
    if (value > column->most) {
        column->most = value;
        column->least_first = true;
    }
    column->last = value;
}

/* The readings in the window as a line, and where it begins and ends. */
static void put_line(struct drawing *drawing, const struct dw_series *gauge, double *from_x,
                     double *to_x)
{
    const struct dw_chart *chart = drawing->chart;
    uint32_t first = dw_series_index(gauge, chart->from_ns);
    struct column column = {.x = NAN};
    bool begins = true;
    for (uint32_t i = first == UINT32_MAX ? 0 : first; i < gauge->count; i++) {
        double x = x_of(drawing, gauge->points[i].time_ns);
        double value = (double)gauge->points[i].value;
        if (gauge->points[i].time_ns > chart->to_ns)
            break;
        if (!isnan(column.x) && floor(x) == floor(column.x)) {
            widen_column(&column, value);
            continue;
        }
        if (isnan(column.x))
            *from_x = x;
        else {
            put_column(drawing, &column, begins);
            begins = false;
        }
        column = (struct column){x, value, value, value, value, false};
    }
    if (isnan(column.x))
        return;
    put_column(drawing, &column, begins);
    *to_x = column.x;
}

static void put_area(struct drawing *drawing, const struct dw_series *gauge)
{
    double from = LEFT, to = LEFT, bottom = drawing->gauge_y + GAUGE_HEIGHT;
    dw_out_text(drawing->out, "<path class=\"area c0\" d=\"");
    put_line(drawing, gauge, &from, &to);
    dw_out_printf(drawing->out, "L%.1f %.1fL%.1f %.1fZ\"/>\n", to, bottom, from, bottom);
}

static void put_curve(struct drawing *drawing, const struct dw_curve *curve, const char *class)
{
    double from, to;
    dw_out_printf(drawing->out, "<path class=\"%s line\" d=\"", class);
    put_line(drawing, curve->gauge, &from, &to);
    dw_out_text(drawing->out, "\"><title>");
    put_name(drawing, curve);
    dw_out_text(drawing->out, "</title></path>\n");
}

static void put_peak(struct drawing *drawing, const struct dw_curve *curve)
{
    double x = x_of(drawing, curve->peak.time_ns), y = y_of(drawing, (double)curve->peak.value);
    bool is_right = x < LEFT + PLOT_WIDTH * 0.75;
    dw_out_printf(drawing->out, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>\n", x, y,
                  drawing->gauge_y + GAUGE_HEIGHT);
    dw_out_printf(drawing->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y);
    put_text(drawing, is_right ? x + 9 : x - 9, y - 6, is_right ? "start" : "end", "peak halo");
    dw_put_amount(drawing->out, (double)curve->peak.value, 0, drawing->chart->unit);
    dw_out_text(drawing->out, " at ");
    dw_put_moment(drawing->out, (double)(curve->peak.time_ns - drawing->chart->start_ns), 0);
    dw_out_text(drawing->out, "</text>\n");
}

static void put_panel_name(struct drawing *drawing, double y, double height, const char *name)
{
    dw_out_printf(drawing->out,
                  "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(14 %.1f) "
                  "rotate(-90)\">",
                  y + height / 2);
    dw_out_xml(drawing->out, name, strlen(name));
    dw_out_text(drawing->out, "</text>\n");
}

static void put_gauge(struct drawing *drawing)
{
    const struct dw_chart *chart = drawing->chart;
    if (chart->count > 1)
        put_curve(drawing, &chart->sum, "all");
    else
        put_area(drawing, chart->curves[0].gauge);
    for (uint32_t i = chart->count; i-- > 0;)
        put_curve(drawing, &chart->curves[i], colours[i % COLOURS]);
    put_peak(drawing, chart->count > 1 ? &chart->sum : &chart->curves[0]);
}

/* As much of the name as fits. */
static void put_span_name(struct drawing *drawing, struct dw_string name, double x, double y,
                          double width)
{
    size_t room = width > 12 ? (size_t)((width - 12) / LETTER) : 0, size = 0;
    const uint8_t *bytes = (const uint8_t *)name.bytes, *end = bytes + name.size;
    for (size_t letters = 0; size < name.size && letters < room; letters++) {
        size_t length = dw_utf8_length(bytes + size, end);
        size += length ? length : 1;
    }
    if (!room || (size < name.size && room < CUT_NAME))
        return;
    put_text(drawing, x + 6, y + 14, "start", "");
    dw_out_xml(drawing->out, name.bytes, size);
    dw_out_text(drawing->out, size < name.size ? "…</text>\n" : "</text>\n");
}

static void put_span(struct drawing *drawing, const struct dw_span *span)
{
    const struct dw_chart *chart = drawing->chart;
    struct dw_string name = dw_profile_string(chart->profile, span->name);
    double x = x_of(drawing, span->from_ns), end = x_of(drawing, span->to_ns);
    double y = drawing->lanes_y + span->lane * LANE_HEIGHT;
    unsigned colour = (unsigned)(dw_hash_name(name.bytes, name.size) % COLOURS);
    dw_out_printf(drawing->out,
                  "<g><rect class=\"span c%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%d\"/><path class=\"c%u ends\" d=\"M%.1f %.1fh-4v%dh4M%.1f "
                  "%.1fh4v%dh-4\"/><title>",
                  colour, x, y + 1, end - x, LANE_HEIGHT - 3, colour, x + 4, y + 1, LANE_HEIGHT - 3,
                  end - 4, y + 1, LANE_HEIGHT - 3);
    dw_out_xml(drawing->out, name.bytes, name.size);
    dw_out_text(drawing->out, ": ");
    dw_put_moment(drawing->out, (double)(span->from_ns - chart->start_ns), 0);
    dw_out_text(drawing->out, " to ");
    dw_put_moment(drawing->out, (double)(span->to_ns - chart->start_ns), 0);
    if (span->count > 1)
        dw_out_printf(drawing->out, ", %" PRIu32 " times", span->count);
    dw_out_text(drawing->out, "</title>");
    put_span_name(drawing, name, x, y, end - x);
    dw_out_text(drawing->out, "</g>\n");
}

/* How much of a CPU was used between two columns of pixels. */
static double share_between(const struct drawing *drawing, const struct dw_curve *curve, int from,
                            int to)
{
    double ns = drawing->span_ns / PLOT_WIDTH;
    uint64_t start_ns = drawing->chart->from_ns;
    return dw_curve_cpu(drawing->chart, curve, start_ns + (uint64_t)(from * ns),
                        start_ns + (uint64_t)(to * ns));
}

#define CPU_COLUMN 2 /* pixels */
static double most_cpu(const struct drawing *drawing)
{
    const struct dw_chart *chart = drawing->chart;
    double most = 0;
    for (uint32_t i = 0; i < chart->count; i++)
        for (int x = 0; x < PLOT_WIDTH; x += CPU_COLUMN)
            most = fmax(most, share_between(drawing, &chart->curves[i], x, x + CPU_COLUMN));
    return most;
}

static void put_cpu(struct drawing *drawing, uint32_t index)
{
    const struct dw_curve *curve = &drawing->chart->curves[index];
    const struct dw_series *gauge = curve->gauge;
    double before = NAN;
    if (!dw_curve_has_cpu(drawing->chart, curve))
        return;
    int from = (int)x_of(drawing, gauge->points[0].time_ns) - LEFT;
    int to = (int)x_of(drawing, gauge->points[gauge->count - 1].time_ns) - LEFT;
    dw_out_printf(drawing->out, "<path class=\"c%" PRIu32 " line\" d=\"M%d %.1f", index % COLOURS,
                  LEFT + from, drawing->cpu_y + CPU_HEIGHT);
    for (int x = from; x < to; x += CPU_COLUMN) {
        double share = share_between(drawing, curve, x, x + CPU_COLUMN);
        double y = drawing->cpu_y + CPU_HEIGHT * (1 - fmin(1, share / drawing->most_cpu));
        if (!(fabs(y - before) < 0.1))
            dw_out_printf(drawing->out, "H%dV%.1f", LEFT + x, y);
        before = y;
    }
    dw_out_printf(drawing->out, "H%d\"/>\n", LEFT + to);
}

static void put_cpu_panel(struct drawing *drawing)
{
    double step = drawing->most_cpu <= 1 ? 0.5 : ceil(drawing->most_cpu / 3);
    put_scale(drawing, drawing->cpu_y, CPU_HEIGHT, drawing->most_cpu, step, DW_UNIT_COUNT, true);
    for (uint32_t i = drawing->chart->count; i-- > 0;)
        put_cpu(drawing, i);
    put_panel_name(drawing, drawing->cpu_y, CPU_HEIGHT, "CPU");
}

static void put_legend_entry(struct drawing *drawing, uint32_t index, const struct dw_curve *curve,
                             const char *class)
{
    double x = LEFT + (double)(index % LEGEND_COLUMNS) * PLOT_WIDTH / LEGEND_COLUMNS;
    uint32_t row = index / LEGEND_COLUMNS;
    double y = drawing->bottom + AXIS_HEIGHT + (double)row * LEGEND_LINE;
    dw_out_printf(drawing->out, "<path class=\"%s line\" d=\"M%.1f %.1fh18\"/>\n", class, x, y - 4);
    put_text(drawing, x + 25, y, "start", "");
    put_name(drawing, curve);
    dw_out_text(drawing->out, " <tspan class=\"soft\">");
    dw_put_amount(drawing->out, (double)curve->peak.value, 0, drawing->chart->unit);
    dw_out_text(drawing->out, "</tspan></text>\n");
}

static void put_legend(struct drawing *drawing)
{
    const struct dw_chart *chart = drawing->chart;
    if (chart->count < 2)
        return;
    for (uint32_t i = 0; i < chart->count; i++)
        put_legend_entry(drawing, i, &chart->curves[i], colours[i % COLOURS]);
    put_legend_entry(drawing, chart->count, &chart->sum, "all");
}

static double legend_height(const struct dw_chart *chart)
{
    uint32_t lines = chart->count < 2 ? 0 : chart->count / LEGEND_COLUMNS + 1;
    return lines * LEGEND_LINE + (lines ? 10 : 0);
}

static void put_heading(struct drawing *drawing, const char *title)
{
    const struct dw_chart *chart = drawing->chart;
    put_text(drawing, LEFT, 28, "start", "title");
    if (title) {
        dw_out_xml(drawing->out, title, strlen(title));
    } else {
        struct dw_curve first = {.process = chart->first_process, .count = 1};
        put_name(drawing, &first);
        if (chart->process_count > 1)
            dw_out_printf(drawing->out, " and %" PRIu32 " more", chart->process_count - 1);
    }
    dw_out_text(drawing->out, "</text>\n");
    put_text(drawing, LEFT, 47, "start", "soft");
    dw_plot_put_peak(drawing->out, chart);
    dw_out_text(drawing->out, "</text>\n");
}

/* Where everything is. */
static struct drawing lay_out(const struct dw_chart *chart, struct dw_out *out)
{
    struct drawing drawing = {.chart = chart, .out = out, .gauge_y = TOP};
    const struct dw_curve *highest = chart->count > 1 ? &chart->sum : &chart->curves[0];
    double peak = (double)highest->peak.value;
    double step = dw_scale_step(peak * 1.06, 6, chart->unit);
    drawing.span_ns = (double)(chart->to_ns - chart->from_ns);
    drawing.most = fmax(step, ceil(peak * 1.06 / step) * step);
    for (uint32_t i = 0; i < chart->count; i++)
        drawing.has_cpu |= dw_curve_has_cpu(chart, &chart->curves[i]);
    drawing.most_cpu = fmax(1, ceil(most_cpu(&drawing) - 0.05));
    drawing.lanes_y = drawing.gauge_y + GAUGE_HEIGHT + (chart->lanes ? 8 : 0);
    drawing.cpu_y = drawing.lanes_y + chart->lanes * LANE_HEIGHT + GAP;
    drawing.bottom =
        drawing.has_cpu ? drawing.cpu_y + CPU_HEIGHT : drawing.lanes_y + chart->lanes * LANE_HEIGHT;
    return drawing;
}

void dw_plot_put_svg(struct dw_out *out, const struct dw_chart *chart, const char *title)
{
    struct drawing drawing = lay_out(chart, out);
    double height = drawing.bottom + AXIS_HEIGHT + legend_height(chart);
    dw_out_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                  "height=\"%.0f\">\n",
                  WIDTH, height, WIDTH, height);
    dw_out_text(out, style);
    dw_out_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    put_heading(&drawing, title);
    put_time_axis(&drawing);
    put_scale(&drawing, drawing.gauge_y, GAUGE_HEIGHT, drawing.most,
              dw_scale_step((double)drawing.most / 1.0001, 6, chart->unit), chart->unit, false);
    for (uint32_t i = 0; i < chart->span_count; i++)
        put_span(&drawing, &chart->spans[i]);
    if (drawing.has_cpu)
        put_cpu_panel(&drawing);
    put_panel_name(&drawing, drawing.gauge_y, GAUGE_HEIGHT,
                   strcmp(chart->gauge, DW_SERIES_RSS) ? chart->gauge : "resident memory");
    put_gauge(&drawing);
    put_legend(&drawing);
    dw_out_text(out, "</svg>\n");
}
