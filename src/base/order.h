/* SPDX-License-Identifier: MIT
 * What comparisons for qsort are made of. */
#ifndef DW_BASE_ORDER_H
#define DW_BASE_ORDER_H

#include <stdint.h>

static inline int dw_ascending(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}
/* Of numbers that are measured. */
static inline int dw_descending(double a, double b)
{
    return (a < b) - (a > b);
}

#endif
