/* SPDX-License-Identifier: MIT
 * Times have the unit in which they are easiest to read, and as many digits as they deserve. */
#include "lens/timing/timing_text.h"

#include "base/comparison.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN_NS_MIN 1e6 /* shorter runs are at the mercy of interrupts and of the clock */
#define TREND_P_MAX 0.01
#define TREND_MIN 0.01
#define SLOWEST_TO_FASTEST 4
#define OUTLIER_UNITS_MIN 7 /* of fewer, the median deviation is that of two or three */

static void put_minutes(struct dw_out *out, double seconds)
{
    static const struct {
        double seconds;
        const char *suffix;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    bool started = false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double whole = floor(seconds / units[i].seconds);
        seconds -= whole * units[i].seconds;
        if (whole > 0)
            dw_out_printf(out, "%s%.0f%s", started ? " " : "", whole, units[i].suffix);
        started = started || whole > 0;
    }
}

/* Rounding can reach the next unit: 999.9 ns are 1 µs. */
static bool reaches_thousand(double value, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL) >= 1000;
}

void dw_timing_put_time(struct dw_out *out, double ns, int digits)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    if (ns >= 60e9) {
        put_minutes(out, ns / 1e9);
        return;
    }
    size_t unit = 0;
    while (unit < 3 && reaches_thousand(ns, digits))
        ns /= 1000, unit++;
    dw_out_printf(out, "%.*g %s", digits, ns, units[unit]);
}

int dw_timing_values(const struct dw_timing *timing, double **values_ns)
{
    double *values = malloc(timing->run_count * sizeof *values);
    if (!values)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < timing->run_count; i++)
        values[i] = (double)timing->runs_ns[i] / (double)timing->loops;
    *values_ns = values;
    return 0;
}

int dw_timing_summarize(const double *values_ns, const struct dw_timing_facts *facts,
                        struct dw_summary *summary)
{
    struct dw_runs series = {values_ns, facts->runs, facts->group};
    struct dw_summary of_units;
    double *units;
    size_t count;
    int error = dw_stat_summarize(values_ns, facts->runs, facts->confidence, summary);
    if (error || facts->group <= 1)
        return error;
    error = dw_runs_units(&series, &units, &count);
    if (error)
        return error;
    error = dw_stat_summarize(units, count, facts->confidence, &of_units);
    free(units);
    if (error)
        return error;
    of_units.mean = summary->mean;
    of_units.stdev = summary->stdev;
    of_units.min = summary->min;
    of_units.max = summary->max;
    *summary = of_units;
    return 0;
}

/* Runs, or the processes that made them. */
static size_t count_units(const struct dw_timing_facts *facts)
{
    return facts->group ? (facts->runs + facts->group - 1) / facts->group : facts->runs;
}

static const char *name_units(const struct dw_timing_facts *facts)
{
    return facts->group ? "processes" : "runs";
}

static void put_few(struct dw_out *out, const struct dw_timing_facts *facts)
{
    size_t count = count_units(facts);
    const char *one = facts->group ? "process" : "run";
    dw_out_printf(out,
                  "%zu %s cannot bound the median with %g %% confidence: repeat it more often\n",
                  count, count == 1 ? one : name_units(facts), facts->confidence * 100);
}

static void put_short(struct dw_out *out, const struct dw_summary *summary, double loops)
{
    dw_out_text(out, "a run takes only ");
    dw_timing_put_time(out, summary->median * loops, 3);
    dw_out_text(out, ", too short to measure well: use more loops\n");
}

static void put_trend(struct dw_out *out, const struct dw_summary *summary, const char *units)
{
    dw_out_printf(out,
                  "the %s drift: the last third took %.1f %% %s than the first; the machine or "
                  "the program changes meanwhile\n",
                  units, fabs(summary->trend) * 100, summary->trend > 0 ? "longer" : "less");
}

static void put_spread(struct dw_out *out, const struct dw_summary *summary)
{
    dw_out_printf(
        out,
        "the slowest run took %.3g times as long as the fastest: something may be cached, "
        "or the machine is busy\n",
        summary->max / summary->min);
}

void dw_timing_put_warnings(struct dw_out *out, const struct dw_summary *summary,
                            const struct dw_timing_facts *facts)
{
    const char *units = name_units(facts);
    if (!summary->is_bounded)
        put_few(out, facts);
    if (summary->median * facts->loops < RUN_NS_MIN)
        put_short(out, summary, facts->loops);
    if (summary->trend_p < TREND_P_MAX && fabs(summary->trend) > TREND_MIN)
        put_trend(out, summary, units);
    if (summary->is_bimodal)
        dw_out_printf(
            out, "the %s fall into two groups: the mean and the median describe neither\n", units);
    if (summary->min > 0 && summary->max > SLOWEST_TO_FASTEST * summary->min)
        put_spread(out, summary);
    if (summary->outliers && count_units(facts) >= OUTLIER_UNITS_MIN)
        dw_out_printf(out, "%zu of %zu %s %s far from the others\n", summary->outliers,
                      count_units(facts), units, summary->outliers == 1 ? "is" : "are");
}
