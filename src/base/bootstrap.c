/* SPDX-License-Identifier: MIT
 * Both samples are drawn again RESAMPLES times; the interval is the middle part of the differences
 * between their medians. The generator is our own, so a seed gives the same interval on every
 * machine. */
#include "base/bootstrap.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define RESAMPLES 4000

/* xoshiro256**, by Blackman and Vigna. */
struct generator {
    uint64_t state[4];
};

static uint64_t rotate(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

static uint64_t next(struct generator *generator)
{
    uint64_t *s = generator->state, result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Fills the state from one number, as its authors advise, by splitmix64. */
static struct generator seeded(uint64_t seed)
{
    struct generator generator;
    for (size_t i = 0; i < 4; i++) {
        uint64_t mixed = seed += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        generator.state[i] = mixed ^ mixed >> 31;
    }
    return generator;
}

static double median_of(double *values, size_t count)
{
    dw_stat_sort(values, count);
    return dw_stat_quantile(values, count, 0.5);
}

static double resampled_median(struct generator *generator, const double *values, size_t count,
                               double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = values[(size_t)((unsigned __int128)next(generator) * count >> 64)];
    return median_of(scratch, count);
}

/* Which of the two draws first must not depend on which is called a. */
static bool in_order(const double *a, size_t a_count, const double *b, size_t b_count)
{
    if (a_count != b_count)
        return a_count < b_count;
    for (size_t i = 0; i < a_count; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return true;
}

/* `shifts` has room for RESAMPLES values, `scratch` for the larger sample. */
static void shift_medians(double *shifts, double *scratch, const double *a, size_t a_count,
                          const double *b, size_t b_count, double confidence, uint64_t seed,
                          struct dw_estimate *estimate)
{
    struct generator generator = seeded(seed);
    for (size_t i = 0; i < RESAMPLES; i++) {
        double of_a = resampled_median(&generator, a, a_count, scratch);
        shifts[i] = resampled_median(&generator, b, b_count, scratch) - of_a;
    }
    dw_stat_sort(shifts, RESAMPLES);
    memcpy(scratch, a, a_count * sizeof *a);
    double of_a = median_of(scratch, a_count);
    memcpy(scratch, b, b_count * sizeof *b);
    estimate->value = median_of(scratch, b_count) - of_a;
    size_t tail = (size_t)((1 - confidence) / 2 * RESAMPLES);
    estimate->interval = (struct dw_interval){shifts[tail], shifts[RESAMPLES - 1 - tail]};
}

int dw_stat_median_shift(const double *a, size_t a_count, const double *b, size_t b_count,
                         double confidence, uint64_t seed, struct dw_estimate *estimate)
{
    if (!in_order(a, a_count, b, b_count)) {
        struct dw_estimate other;
        int error = dw_stat_median_shift(b, b_count, a, a_count, confidence, seed, &other);
        if (!error)
            *estimate =
                (struct dw_estimate){-other.value, {-other.interval.high, -other.interval.low}};
        return error;
    }
    double *shifts = malloc((RESAMPLES + a_count + b_count) * sizeof *shifts);
    if (!shifts)
        return DW_ERR_MEMORY;
    shift_medians(shifts, shifts + RESAMPLES, a, a_count, b, b_count, confidence, seed, estimate);
    free(shifts);
    return 0;
}
