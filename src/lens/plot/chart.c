/* SPDX-License-Identifier: MIT
 * The sum is made on one clock, so that its peak is one that there was, and not the sum of peaks
 * that came one after the other. */
#include "lens/plot/chart.h"

#include "base/error.h"
#include "lens/view/roster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has_gauge(const struct dw_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->series_count; i++)
        if (!strcmp(dw_profile_string(profile, profile->series[i].name).bytes, name))
            return true;
    return false;
}

/* A recording of another tool may have others than RSS. */
static const char *default_gauge(const struct dw_profile *profile)
{
    if (has_gauge(profile, DW_SERIES_RSS) || !profile->series_count)
        return DW_SERIES_RSS;
    return dw_profile_string(profile, profile->series[0].name).bytes;
}

/* The highest reading in the window. */
static void find_peak(const struct dw_chart *chart, struct dw_curve *curve)
{
    const struct dw_series *gauge = curve->gauge;
    uint32_t first = dw_series_index(gauge, chart->from_ns);
    bool has_any = false;
    for (uint32_t i = first == UINT32_MAX ? 0 : first; i < gauge->count; i++) {
        struct dw_series_point point = gauge->points[i];
        if (point.time_ns > chart->to_ns)
            break;
        if (point.time_ns < chart->from_ns)
            point.time_ns = chart->from_ns; /* it holds until the next one */
        if (!has_any || point.value > curve->peak.value)
            curve->peak = point;
        has_any = true;
    }
}

/* What the kernel has noted of RSS between two readings counts if it was noted in the window. */
static void find_peak_between(const struct dw_chart *chart, struct dw_curve *curve)
{
    const struct dw_series *peak = curve->noted;
    uint32_t last = peak ? dw_series_index(peak, chart->to_ns) : UINT32_MAX;
    if (last == UINT32_MAX || peak->points[last].value <= curve->peak.value)
        return;
    while (last && peak->points[last - 1].value == peak->points[last].value)
        last--;
    if (!last || peak->points[last - 1].time_ns < chart->from_ns)
        return;
    curve->peak = peak->points[last];
    curve->is_between = true;
}

static void measure_curve(const struct dw_chart *chart, struct dw_curve *curve)
{
    find_peak(chart, curve);
    find_peak_between(chart, curve);
}

/* Makes one curve of several. */
static int add_up(const struct dw_curve *curves, uint32_t count, struct dw_curve *sum)
{
    const struct dw_series **parts = calloc(count + 1u, sizeof(const struct dw_series *));
    if (!parts)
        return DW_ERR_MEMORY;
    *sum = (struct dw_curve){
        .process = curves->process, .count = count, .first_cpu = curves->first_cpu};
    sum->own.unit = curves->gauge->unit;
    sum->own.is_total = curves->gauge->is_total;
    for (uint32_t i = 0; i < count; i++)
        parts[i] = curves[i].gauge;
    int error = dw_series_sum(parts, count, &sum->own);
    free(parts);
    return error;
}

/* `found` has room for three series of each process. */
static void fill_curves(struct dw_chart *chart, const uint32_t *order,
                        const struct dw_series **found)
{
    const struct dw_profile *profile = chart->profile;
    uint32_t processes = profile->process_count;
    const struct dw_series **cpu = found + processes, **noted = cpu + processes;
    dw_series_find_all(profile, chart->gauge, found);
    dw_series_find_all(profile, DW_SERIES_CPU, cpu);
    if (!strcmp(chart->gauge, DW_SERIES_RSS))
        dw_series_find_all(profile, DW_SERIES_PEAK, noted);
    for (uint32_t i = 0; i < processes; i++)
        if (found[order[i]])
            chart->curves[chart->count++] = (struct dw_curve){.process = order[i],
                                                              .count = 1,
                                                              .gauge = found[order[i]],
                                                              .cpu = cpu[order[i]],
                                                              .noted = noted[order[i]]};
}

static int list_curves(struct dw_chart *chart)
{
    uint32_t *order, processes = chart->profile->process_count;
    int error = dw_roster_processes(chart->profile, &order);
    if (error)
        return error;
    const struct dw_series **found = calloc(3 * processes + 1u, sizeof(const struct dw_series *));
    chart->curves = calloc(processes + 1u, sizeof *chart->curves);
    bool has_room = found && chart->curves;
    if (has_room)
        fill_curves(chart, order, found);
    free(found);
    free(order);
    chart->process_count = chart->count;
    chart->first_process = has_room && chart->count ? chart->curves[0].process : 0;
    chart->has_hosts = dw_roster_has_hosts(chart->profile);
    return !has_room ? DW_ERR_MEMORY : chart->count ? 0 : DW_ERR_NO_SAMPLES;
}

static int find_window(struct dw_chart *chart, const struct dw_plot_options *options)
{
    uint64_t end_ns = 0;
    chart->start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < chart->count; i++) {
        const struct dw_series *gauge = chart->curves[i].gauge;
        if (!gauge || !gauge->count)
            continue;
        uint64_t last_ns = gauge->points[gauge->count - 1].time_ns;
        if (gauge->points[0].time_ns < chart->start_ns)
            chart->start_ns = gauge->points[0].time_ns;
        end_ns = last_ns > end_ns ? last_ns : end_ns;
    }
    uint64_t whole_ns = end_ns - chart->start_ns;
    uint64_t to_ns = options->to_ns && options->to_ns < whole_ns ? options->to_ns : whole_ns;
    if (options->from_ns > to_ns || (whole_ns && options->from_ns == to_ns))
        return DW_ERR_NO_SAMPLES;
    chart->from_ns = chart->start_ns + options->from_ns;
    chart->to_ns = chart->start_ns + to_ns;
    return 0;
}

/* Processes that were not there in the window are not drawn. */
static int leave_out_others(struct dw_chart *chart)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < chart->count; i++) {
        const struct dw_series *gauge = chart->curves[i].gauge;
        if (gauge && gauge->count && gauge->points[0].time_ns <= chart->to_ns &&
            gauge->points[gauge->count - 1].time_ns >= chart->from_ns)
            chart->curves[kept++] = chart->curves[i];
    }
    chart->count = chart->process_count = kept;
    return kept ? 0 : DW_ERR_NO_SAMPLES;
}

static int compare_curves(const void *left, const void *right)
{
    const struct dw_curve *a = left, *b = right;
    return (b->peak.value > a->peak.value) - (b->peak.value < a->peak.value);
}

/* The process that started it all stays apart, however small it is. */
static void keep_first_process(struct dw_chart *chart)
{
    uint32_t last = DW_CURVES_MAX - 2;
    for (uint32_t i = last + 1; i < chart->count && chart->count > DW_CURVES_MAX; i++) {
        struct dw_curve curve = chart->curves[i];
        if (curve.process != chart->first_process)
            continue;
        chart->curves[i] = chart->curves[last];
        chart->curves[last] = curve;
    }
}

/* More curves than can be told apart: the smallest become one. */
static int fold_smallest(struct dw_chart *chart)
{
    if (chart->count <= DW_CURVES_MAX)
        return 0;
    struct dw_curve others, *first = &chart->curves[DW_CURVES_MAX - 1];
    int error = add_up(first, chart->count - (DW_CURVES_MAX - 1), &others);
    *first = others;
    first->gauge = &first->own;
    chart->count = DW_CURVES_MAX;
    find_peak(chart, first);
    return error;
}

static int list_cpus(struct dw_chart *chart)
{
    chart->cpus = calloc(chart->count + 1u, sizeof(const struct dw_series *));
    for (uint32_t i = 0; chart->cpus && i < chart->count; i++) {
        chart->cpus[i] = chart->curves[i].cpu;
        chart->curves[i].first_cpu = i;
    }
    return chart->cpus ? 0 : DW_ERR_MEMORY;
}

/* Everything but the spans. */
static int make_curves(struct dw_chart *chart, const struct dw_plot_options *options)
{
    int error = find_window(chart, options);
    if (!error)
        error = leave_out_others(chart);
    if (!error)
        error = add_up(chart->curves, chart->count, &chart->sum);
    if (error)
        return error;
    chart->sum.gauge = &chart->sum.own;
    chart->unit = chart->sum.own.unit;
    chart->is_total = chart->sum.own.is_total;
    for (uint32_t i = 0; i < chart->count; i++)
        measure_curve(chart, &chart->curves[i]);
    chart->sum.noted = chart->count == 1 ? chart->curves[0].noted : NULL;
    measure_curve(chart, &chart->sum);
    qsort(chart->curves, chart->count, sizeof *chart->curves, compare_curves);
    keep_first_process(chart);
    error = list_cpus(chart);
    if (error)
        return error;
    if (!options->sum || chart->count == 1)
        return fold_smallest(chart);
    chart->curves[0] = chart->sum;
    chart->sum.own = (struct dw_series){0};
    chart->curves[0].gauge = &chart->curves[0].own;
    chart->count = 1;
    return 0;
}

int dw_chart_init(struct dw_chart *chart, const struct dw_profile *profile,
                  const struct dw_plot_options *options)
{
    const char *gauge = options->gauge ? options->gauge : default_gauge(profile);
    *chart = (struct dw_chart){.profile = profile, .gauge = gauge};
    int error = list_curves(chart);
    if (!error)
        error = make_curves(chart, options);
    if (!error)
        error = dw_chart_find_spans(chart);
    if (error)
        dw_chart_release(chart);
    return error;
}

void dw_chart_release(struct dw_chart *chart)
{
    for (uint32_t i = 0; i < chart->count; i++)
        dw_series_release(&chart->curves[i].own);
    dw_series_release(&chart->sum.own);
    free(chart->curves);
    free(chart->cpus);
    free(chart->spans);
    *chart = (struct dw_chart){0};
}

void dw_chart_put_name(struct dw_out *out, const struct dw_chart *chart,
                       const struct dw_curve *curve)
{
    struct dw_string program = dw_profile_property(chart->profile, curve->process, "program");
    bool has_number = chart->profile->processes[curve->process].pid;
    if (curve->count == 1 && !has_number && program.size)
        dw_out_printable(out, program.bytes, program.size);
    else if (curve->count == 1)
        dw_roster_put_program(out, chart->profile, curve->process, chart->has_hosts);
    else if (curve->count == chart->process_count)
        dw_out_printf(out, "sum of %" PRIu32 " processes", curve->count);
    else
        dw_out_printf(out, "%" PRIu32 " others together", curve->count);
}

bool dw_curve_has_cpu(const struct dw_chart *chart, const struct dw_curve *curve)
{
    for (uint32_t i = 0; i < curve->count; i++)
        if (chart->cpus[curve->first_cpu + i])
            return true;
    return false;
}

/* The CPU time that was used up to then, as if it was used evenly between two readings. */
static double cpu_at(const struct dw_series *cpu, uint64_t time_ns)
{
    uint32_t index = dw_series_index(cpu, time_ns);
    if (index == UINT32_MAX || index + 1 == cpu->count)
        return (double)cpu->points[index == UINT32_MAX ? 0 : index].value;
    const struct dw_series_point *before = &cpu->points[index], *after = before + 1;
    double share = (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
    return (double)before->value + share * ((double)after->value - (double)before->value);
}

double dw_curve_cpu(const struct dw_chart *chart, const struct dw_curve *curve, uint64_t from_ns,
                    uint64_t to_ns)
{
    double used_ns = 0;
    for (uint32_t i = 0; i < curve->count; i++) {
        const struct dw_series *cpu = chart->cpus[curve->first_cpu + i];
        used_ns += cpu ? cpu_at(cpu, to_ns) - cpu_at(cpu, from_ns) : 0;
    }
    return to_ns > from_ns && used_ns > 0 ? used_ns / (double)(to_ns - from_ns) : 0;
}
