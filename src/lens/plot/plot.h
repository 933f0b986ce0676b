/* SPDX-License-Identifier: MIT
 * Drawings of a chart. */
#ifndef DW_LENS_PLOT_PLOT_H
#define DW_LENS_PLOT_PLOT_H

#include "lens/plot/chart.h"

/* An SVG that also fits dark pages. */
void dw_plot_put_svg(struct dw_out *out, const struct dw_chart *chart, const char *title);
/* A chart of characters, `width` columns wide. */
void dw_plot_put_text(struct dw_out *out, const struct dw_chart *chart, size_t width);
/* "peak 1.5 GiB at 3.2 s of 10.4 s", and that of the sum when there are several processes. */
void dw_plot_put_peak(struct dw_out *out, const struct dw_chart *chart);

#endif
