/* SPDX-License-Identifier: MIT
 * A step is one of a list, times a power of what the unit counts in. */
#include "lens/plot/scale.h"

#include "lens/view/column.h"

#include <math.h>

static double round_step(double rough)
{
    double power = pow(10, floor(log10(rough)));
    double part = rough / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double unit_of_bytes(double bytes)
{
    double unit = 1;
    while (bytes >= unit * 1024 && unit < 0x1p50)
        unit *= 1024;
    return unit;
}

static double step_of_time(double rough_ns)
{
    static const double seconds[] = {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600};
    if (rough_ns <= 5e9)
        return round_step(rough_ns);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (rough_ns <= seconds[i] * 1e9)
            return seconds[i] * 1e9;
    return round_step(rough_ns / 3.6e12) * 3.6e12;
}

double dw_scale_step(double most, unsigned wanted, enum dw_unit unit)
{
    double rough = most > 0 ? most / wanted : 1;
    if (unit == DW_UNIT_NS)
        return step_of_time(rough);
    double of = unit == DW_UNIT_BYTES ? unit_of_bytes(most) : 1;
    double step = round_step(rough / of) * of;
    return step < 1 ? 1 : step;
}

static int decimals_of(double step)
{
    int decimals = 0;
    while (decimals < 3 && fabs(step - round(step)) > 1e-6) {
        step *= 10;
        decimals++;
    }
    return decimals;
}

static void put_bytes(struct dw_out *out, double bytes, double step)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double unit = unit_of_bytes(bytes);
    size_t name = (size_t)(log2(unit) / 10);
    if (bytes > 0)
        dw_out_printf(out, "%.*f %s", decimals_of(step / unit), bytes / unit, names[name]);
    else
        dw_out_char(out, '0');
}

void dw_put_moment(struct dw_out *out, double ns, double step)
{
    dw_out_moment(out, ns, step > 0 ? decimals_of(step / 1e9) : ns < 10e9 ? 2 : 1);
}

void dw_put_amount(struct dw_out *out, double amount, double step, enum dw_unit unit)
{
    if (unit == DW_UNIT_BYTES && step > 0)
        put_bytes(out, amount, step);
    else if (unit == DW_UNIT_BYTES)
        dw_out_bytes(out, amount > 0 ? (uint64_t)amount : 0);
    else if (unit == DW_UNIT_NS)
        dw_put_moment(out, amount, step);
    else
        dw_out_printf(out, "%.0f", amount);
}
