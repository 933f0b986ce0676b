/* SPDX-License-Identifier: MIT
 * Axes: round steps, and numbers as people write them. */
#ifndef DW_LENS_PLOT_SCALE_H
#define DW_LENS_PLOT_SCALE_H

#include "base/out.h"
#include "model/measure.h"

/* A round step of which about `wanted` reach up to the number: of bytes in binary units, of
 * nanoseconds as clocks have it, else 1, 2 or 5 times a power of ten. */
double dw_scale_step(double most, unsigned wanted, enum dw_unit unit);
/* "1.5 GiB", with as many decimals as numbers in steps of `step` need; 0: three digits. */
void dw_put_bytes(struct dw_out *out, double bytes, double step);
/* A time since the start: "250 ms", "12.5 s", "3:20", "1:03:20". */
void dw_put_moment(struct dw_out *out, double ns, double step);
/* Whichever the unit is. */
void dw_put_amount(struct dw_out *out, double amount, double step, enum dw_unit unit);

#endif
