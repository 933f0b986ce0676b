/* SPDX-License-Identifier: MIT
 * Time for the hot path, in ticks: the TSC where it is invariant (15 ns a read
 * against 44 ns for clock_gettime), else nanoseconds. Ticks become nanoseconds
 * by two (tick, monotonic) pairs far apart, so the rate sharpens as time goes. */
#ifndef DW_BASE_CLOCK_H
#define DW_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t dw_timespec_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static inline uint64_t dw_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return dw_timespec_ns(&now);
}

#include "base/tick_x86_64.h"

/* The same instant on three clocks. */
struct dw_clock_pair {
    uint64_t tick;
    uint64_t monotonic_ns;
    uint64_t wall_ns;
};

struct dw_clock_pair dw_clock_pair_now(void);
/* The wall clock of this host is so far behind that of others that are recorded too: pairs have
 * theirs from now on. */
void dw_clock_shift_wall(int64_t behind_ns);

/* Nanoseconds per tick, as a fixed-point number with 56 fractional bits. */
struct dw_clock_rate {
    uint64_t ns_per_tick;
};

/* The rate that two pairs show; 1:1 when they are the same instant. */
struct dw_clock_rate dw_clock_rate_between(const struct dw_clock_pair *first,
                                           const struct dw_clock_pair *last);

static inline uint64_t dw_clock_scale(struct dw_clock_rate rate, uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * rate.ns_per_tick >> 56);
}

/* The wall clock at a tick, which may lie a little before the epoch. */
static inline uint64_t dw_clock_wall_ns(const struct dw_clock_pair *epoch,
                                        struct dw_clock_rate rate, uint64_t tick)
{
    return tick >= epoch->tick ? epoch->wall_ns + dw_clock_scale(rate, tick - epoch->tick)
                               : epoch->wall_ns - dw_clock_scale(rate, epoch->tick - tick);
}

#endif
