/* SPDX-License-Identifier: MIT
 * Axes: round steps, and numbers as people write them. */
#ifndef DW_LENS_PLOT_SCALE_H
#define DW_LENS_PLOT_SCALE_H

#include "base/out.h"
#include "model/measure.h"

/* A round step of which about `wanted` reach up to the number: of bytes in binary units, of
 * nanoseconds as clocks have it, else 1, 2 or 5 times a power of ten. */
double dw_scale_step(double most, unsigned wanted, enum dw_unit unit);
/* A time since the start: "12.5 s", "3:20 min", "1:03:20 h", with as many decimals as numbers in
 * steps of `step` need; 0: two or so. */
void dw_put_moment(struct dw_out *out, double ns, double step);
/* "1.5 GiB", or whatever the unit is, likewise. */
void dw_put_amount(struct dw_out *out, double amount, double step, enum dw_unit unit);

#endif
