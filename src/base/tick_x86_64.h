/* SPDX-License-Identifier: MIT
 * The tick of this platform. Another one gets a file of its own beside this. */
#ifndef DW_BASE_TICK_X86_64_H
#define DW_BASE_TICK_X86_64_H

#include "base/clock.h"

#if defined(__x86_64__)

/* Set once before main, by asking the CPU for an invariant TSC. */
extern bool dw_tick_is_tsc;

/* [signal-safe] The builtin saves every file that includes this the 50,000 lines of x86intrin.h. */
static inline uint64_t dw_tick(void)
{
    return __builtin_expect(dw_tick_is_tsc, 1) ? __builtin_ia32_rdtsc()
                                               : dw_clock_ns(CLOCK_MONOTONIC);
}

#else

static inline uint64_t dw_tick(void)
{
    return dw_clock_ns(CLOCK_MONOTONIC);
}

#endif
#endif
