/* SPDX-License-Identifier: MIT
 * The tick of this platform. Another one gets a file of its own beside this. */
#ifndef DW_BASE_TICK_X86_64_H
#define DW_BASE_TICK_X86_64_H

#include "base/clock.h"

#if defined(__x86_64__)

#include <x86intrin.h>

/* Set once before main, by asking the CPU for an invariant TSC. */
extern bool dw_tick_is_tsc;

/* [signal-safe] */
static inline uint64_t dw_tick(void)
{
    return __builtin_expect(dw_tick_is_tsc, 1) ? __rdtsc() : dw_clock_ns(CLOCK_MONOTONIC);
}

#else

static inline uint64_t dw_tick(void)
{
    return dw_clock_ns(CLOCK_MONOTONIC);
}

#endif
#endif
