/* SPDX-License-Identifier: MIT
 * Which tick is used is decided once, before main, so all ticks of a process are of one kind. The
 * wall clock is brought to the instant of the pair by the monotonic clock. */
#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>

bool dw_tick_is_tsc;

__attribute__((constructor)) static void choose_tick(void)
{
    unsigned a, b, c, d;
    /* Leaf 0x80000007, EDX bit 8: the TSC runs at one rate in every power state. */
    dw_tick_is_tsc = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

static _Atomic int64_t behind_others_ns;

void dw_clock_shift_wall(int64_t behind_ns)
{
    behind_others_ns = behind_ns;
}

/* The tick is read on both sides of the clock; the tightest of a few tries wins. */
struct dw_clock_pair dw_clock_pair_now(void)
{
    struct dw_clock_pair best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int attempt = 0; attempt < 4; attempt++) {
        uint64_t before = dw_tick();
        uint64_t monotonic = dw_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = dw_tick();
        if (after - before < best_width) {
            best_width = after - before;
            best.tick = before + best_width / 2;
            best.monotonic_ns = monotonic;
        }
    }
    uint64_t wall = dw_clock_ns(CLOCK_REALTIME);
    best.wall_ns = wall - (dw_clock_ns(CLOCK_MONOTONIC) - best.monotonic_ns);
    best.wall_ns += (uint64_t)behind_others_ns;
    return best;
}

struct dw_clock_rate dw_clock_rate_between(const struct dw_clock_pair *first,
                                           const struct dw_clock_pair *last)
{
    uint64_t ticks = last->tick - first->tick;
    uint64_t ns = last->monotonic_ns - first->monotonic_ns;
    uint64_t one = (uint64_t)1 << 56;
    if (!ticks || !ns || ns / ticks >= 128)
        return (struct dw_clock_rate){one};
    return (struct dw_clock_rate){(uint64_t)(((unsigned __int128)ns << 56) / ticks)};
}
