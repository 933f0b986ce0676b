/* SPDX-License-Identifier: MIT
 * Characters of braille have two by four dots, so a terminal has room for a small picture. */
#include "lens/plot/chart.h"

#include "base/error.h"
#include "lens/plot/scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 10
#define DOTS (4 * ROWS)
#define LABEL 10 /* columns of the numbers at the side */
#define WIDTH_MIN 30
#define WIDTH_MAX 160

/* The most in each column of dots; NAN where there is no reading. */
static void sample(const struct dw_chart *chart, const struct dw_series *gauge, double *columns,
                   size_t count)
{
    double span = (double)(chart->to_ns - chart->from_ns), held = NAN;
    uint32_t at = dw_series_index(gauge, chart->from_ns);
    uint64_t end_ns = gauge->points[gauge->count - 1].time_ns;
    at = at == UINT32_MAX ? 0 : at;
    for (size_t i = 0; i < count; i++) {
        uint64_t until = chart->from_ns + (uint64_t)(span * (double)(i + 1) / (double)count);
        uint64_t since = chart->from_ns + (uint64_t)(span * (double)i / (double)count);
        columns[i] = since <= end_ns ? held : NAN;
        for (; at < gauge->count && gauge->points[at].time_ns <= until; at++) {
            held = (double)gauge->points[at].value;
            columns[i] = isnan(columns[i]) ? held : fmax(columns[i], held);
        }
    }
}

static void put_braille(struct dw_out *out, unsigned dots)
{
    unsigned code = 0x2800 + dots;
    if (!dots) {
        dw_out_char(out, ' ');
        return;
    }
    dw_out_char(out, (char)(0xe0 | code >> 12));
    dw_out_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
    dw_out_char(out, (char)(0x80 | (code & 0x3f)));
}

/* The dots of a character that are filled from the bottom up to heights `left` and `right`. */
static unsigned dots_below(int left, int right)
{
    static const unsigned lefts[] = {0, 0x40, 0x44, 0x46, 0x47};
    static const unsigned rights[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
    left = left < 0 ? 0 : left > 4 ? 4 : left;
    right = right < 0 ? 0 : right > 4 ? 4 : right;
    return lefts[left] | rights[right];
}

static int height_of(double value, double most)
{
    return isnan(value) ? 0 : (int)fmax(1, ceil(DOTS * value / most - 0.5));
}

static void put_row_label(struct dw_out *out, const struct dw_chart *chart, double value)
{
    struct dw_out text;
    dw_out_init_memory(&text);
    dw_put_amount(&text, value, 0, chart->unit);
    if (text.buffer.size < LABEL)
        dw_out_repeat(out, ' ', LABEL - text.buffer.size);
    dw_out_write(out, text.buffer.data, text.buffer.size);
    dw_out_close_into(&text, out);
}

static void put_rows(struct dw_out *out, const struct dw_chart *chart, const double *columns,
                     size_t width, double most)
{
    for (int row = ROWS - 1; row >= 0; row--) {
        if (row == ROWS - 1 || row == ROWS / 2 - 1)
            put_row_label(out, chart, most * (row + 1) / ROWS);
        else
            dw_out_repeat(out, ' ', LABEL);
        dw_out_text(out, " ┤");
        for (size_t i = 0; i < width; i++)
            put_braille(out, dots_below(height_of(columns[2 * i], most) - 4 * row,
                                        height_of(columns[2 * i + 1], most) - 4 * row));
        dw_out_char(out, '\n');
    }
}

static void put_axis(struct dw_out *out, const struct dw_chart *chart, size_t width)
{
    struct dw_out end;
    dw_out_repeat(out, ' ', LABEL);
    dw_out_text(out, " └");
    for (size_t i = 0; i < width; i++)
        dw_out_text(out, "─");
    dw_out_char(out, '\n');
    dw_out_init_memory(&end);
    size_t before = out->buffer.size;
    dw_out_repeat(out, ' ', LABEL + 2);
    dw_put_moment(out, (double)(chart->from_ns - chart->start_ns), 0);
    dw_put_moment(&end, (double)(chart->to_ns - chart->start_ns), 0);
    size_t written = out->buffer.size > before ? out->buffer.size - before : 0;
    size_t place = LABEL + 2 + width;
    if (written + end.buffer.size < place)
        dw_out_repeat(out, ' ', place - written - end.buffer.size);
    dw_out_write(out, end.buffer.data, end.buffer.size);
    dw_out_char(out, '\n');
    dw_out_close_into(&end, out);
}

static void put_eighths(struct dw_out *out, double share)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    dw_out_text(out, bars[share <= 0 ? 0 : share >= 1 ? 8 : 1 + (int)(share * 7.999)]);
}

static double cpu_of_column(const struct dw_chart *chart, const struct dw_curve *curve, size_t i,
                            size_t width)
{
    double span = (double)(chart->to_ns - chart->from_ns) / (double)width;
    return dw_curve_cpu(chart, curve, chart->from_ns + (uint64_t)(span * (double)i),
                        chart->from_ns + (uint64_t)(span * (double)(i + 1)));
}

/* A line of bars of the share of a CPU, up to the most that there was. */
static void put_cpu(struct dw_out *out, const struct dw_chart *chart, const struct dw_curve *curve,
                    size_t width)
{
    double most = 1;
    for (size_t i = 0; i < width; i++)
        most = fmax(most, cpu_of_column(chart, curve, i, width));
    dw_out_printf(out, "%*s%4.0f%% ┤", LABEL - 5, "CPU ", 100 * most);
    for (size_t i = 0; i < width; i++)
        put_eighths(out, cpu_of_column(chart, curve, i, width) / most);
    dw_out_char(out, '\n');
}

static void put_small_curve(struct dw_out *out, const struct dw_chart *chart,
                            const struct dw_curve *curve, double *columns, size_t width)
{
    sample(chart, curve->gauge, columns, width);
    dw_out_repeat(out, ' ', LABEL + 2);
    for (size_t i = 0; i < width; i++)
        put_eighths(out, isnan(columns[i]) ? 0 : columns[i] / (double)chart->curves[0].peak.value);
    dw_out_text(out, "  ");
    dw_chart_put_name(out, chart, curve);
    dw_out_text(out, ", peak ");
    dw_put_amount(out, (double)curve->peak.value, 0, chart->unit);
    dw_out_char(out, '\n');
}

void dw_plot_put_text(struct dw_out *out, const struct dw_chart *chart, size_t width)
{
    width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
    size_t plot = width - LABEL - 3;
    const struct dw_curve *shown = chart->count > 1 ? &chart->sum : &chart->curves[0];
    double *columns = calloc(2 * plot, sizeof *columns);
    double most = shown->peak.value > 0 ? (double)shown->peak.value : 1;
    if (!columns) {
        out->error = out->error ? out->error : DW_ERR_MEMORY;
        return;
    }
    dw_chart_put_name(out, chart, shown);
    dw_out_text(out, ": ");
    dw_plot_put_peak(out, chart);
    dw_out_char(out, '\n');
    sample(chart, shown->gauge, columns, 2 * plot);
    put_rows(out, chart, columns, plot, most);
    if (dw_curve_has_cpu(chart, shown))
        put_cpu(out, chart, shown, plot);
    put_axis(out, chart, plot);
    for (uint32_t i = 0; i < chart->count && chart->count > 1; i++)
        put_small_curve(out, chart, &chart->curves[i], columns, plot / 2);
    free(columns);
}

static void put_one_peak(struct dw_out *out, const struct dw_chart *chart,
                         const struct dw_curve *curve)
{
    dw_put_amount(out, (double)curve->peak.value, 0, chart->unit);
    dw_out_text(out, curve->is_between ? " just before " : " at ");
    dw_put_moment(out, (double)(curve->peak.time_ns - chart->start_ns), 0);
}

void dw_plot_put_peak(struct dw_out *out, const struct dw_chart *chart)
{
    dw_out_text(out, "peak ");
    put_one_peak(out, chart, &chart->curves[0]);
    if (chart->count > 1) {
        dw_out_printf(out, ", of %" PRIu32 " processes together ", chart->process_count);
        put_one_peak(out, chart, &chart->sum);
    }
}
