/* SPDX-License-Identifier: MIT
 * What is to be drawn over time, whichever way: a gauge and the CPU of each process, their sum,
 * what regions the program was in, and where the peak is. Times are on the wall clock. */
#ifndef DW_LENS_PLOT_CHART_H
#define DW_LENS_PLOT_CHART_H

#include "lens/lens.h"

#define DW_CURVES_MAX 10 /* of processes; the smallest of more are one curve together */
#define DW_LANES_MAX 8   /* of spans */

struct dw_plot_options {
    const char *title;       /* NULL: the program */
    const char *gauge;       /* NULL: rss */
    bool sum;                /* one curve of all processes */
    uint64_t from_ns, to_ns; /* since the first reading; to 0: up to the last */
    size_t width;            /* of a terminal */
};

/* A process, or several together. */
struct dw_curve {
    uint32_t process;     /* the first of them */
    uint32_t count;       /* how many */
    struct dw_series own; /* a sum, when there are several */
    const struct dw_series *gauge;
    const struct dw_series *cpu;   /* of a single process; NULL: not known */
    uint32_t first_cpu;            /* in the chart's list, of as many as the curve has */
    const struct dw_series *noted; /* what the kernel has noted as the peak so far, or NULL */
    struct dw_series_point peak;   /* in the window */
    bool is_between;               /* it was between two readings, before this time */
};

/* A stretch in which a thread was in a region, or in many short ones of the same name. */
struct dw_span {
    uint64_t from_ns, to_ns;
    dw_string_id name;
    uint32_t lane;  /* how deep it is */
    uint32_t count; /* how many there were */
};

struct dw_chart {
    const struct dw_profile *profile;
    struct dw_curve *curves; /* largest peak first; one of all when a sum is asked for */
    uint32_t count, process_count;
    uint32_t first_process; /* that was started */
    bool has_hosts;         /* they ran on several */
    const char *gauge;
    struct dw_curve sum;
    const struct dw_series **cpus; /* of the curves, in their order; NULL: not known */
    bool is_total;                 /* the gauge only grows */
    enum dw_unit unit;
    uint64_t start_ns;       /* the first reading */
    uint64_t from_ns, to_ns; /* what is shown */
    struct dw_span *spans;
    uint32_t span_count, span_capacity, lanes;
};

/* 0, DW_ERR_MEMORY, or DW_ERR_NO_SAMPLES when no process has the gauge, or none in the window. */
int dw_chart_init(struct dw_chart *chart, const struct dw_profile *profile,
                  const struct dw_plot_options *options);
void dw_chart_release(struct dw_chart *chart);
/* The curve's name: the program and its process, how many more, or all of them. */
void dw_chart_put_name(struct dw_out *out, const struct dw_chart *chart,
                       const struct dw_curve *curve);
bool dw_curve_has_cpu(const struct dw_chart *chart, const struct dw_curve *curve);
/* How much of a CPU was used between two times, 1 for one of them. */
double dw_curve_cpu(const struct dw_chart *chart, const struct dw_curve *curve, uint64_t from_ns,
                    uint64_t to_ns);
/* chart_spans.c: finds the spans of the timeline. 0 or DW_ERR_MEMORY. */
int dw_chart_find_spans(struct dw_chart *chart);

/* Drawings of it: an SVG that also fits dark pages. */
void dw_plot_put_svg(struct dw_out *out, const struct dw_chart *chart, const char *title);
/* A chart of characters, `width` columns wide. */
void dw_plot_put_text(struct dw_out *out, const struct dw_chart *chart, size_t width);
/* "peak 1.5 GiB at 3.2 s of 10.4 s", and that of the sum when there are several processes. */
void dw_plot_put_peak(struct dw_out *out, const struct dw_chart *chart);

#endif
