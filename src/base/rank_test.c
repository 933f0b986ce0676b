/* SPDX-License-Identifier: MIT
 * Counts of orders are whole numbers in doubles, so small chances are exact. */
#include "base/rank_test.h"

#include "base/error.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_PAIRS_MAX 400 /* of Mann-Whitney: doubles cannot hold larger counts exactly */
#define EXACT_DIFFERENCES_MAX 50

/* Pairs in which b is larger, with half of those that are equal. Both are sorted. */
static double count_wins(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double wins = 0;
    size_t below = 0, upto = 0; /* values of a that are below b[i], and up to it */
    for (size_t i = 0; i < b_count; i++) {
        while (below < a_count && a[below] < b[i])
            below++;
        while (upto < a_count && a[upto] <= b[i])
            upto++;
        wins += ((double)below + (double)upto) / 2;
    }
    return wins;
}

static double cube_term(double ties)
{
    return ties * ties * ties - ties;
}

/* The chance of at most `wins` when all orders are equally likely: counts of orders by wins are
 * the coefficients of the product of (1 - x^(b+i)) / (1 - x^i) for i from 1 to a. */
static int exact_tail(size_t a_count, size_t b_count, double wins, double *chance)
{
    size_t size = a_count * b_count + 1;
    double *orders = calloc(size, sizeof *orders), all = 0, upto = 0;
    if (!orders)
        return DW_ERR_MEMORY;
    orders[0] = 1;
    for (size_t i = 1; i <= a_count; i++) {
        for (size_t w = size; w-- > b_count + i;)
            orders[w] -= orders[w - b_count - i];
        for (size_t w = i; w < size; w++)
            orders[w] += orders[w - i];
    }
    for (size_t w = 0; w < size; w++) {
        all += orders[w];
        upto += (double)w <= wins ? orders[w] : 0;
    }
    free(orders);
    *chance = upto / all;
    return 0;
}

static double normal_p(size_t a_count, size_t b_count, double wins, double ties)
{
    double a = (double)a_count, b = (double)b_count, n = a + b;
    double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));
    double off = fabs(wins - a * b / 2) - 0.5;
    return variance > 0 && off > 0 ? dw_stat_normal_tails(off / sqrt(variance)) : 1;
}

/* `both` has room for all values. */
static int rank_test(double *both, const double *a, size_t a_count, const double *b, size_t b_count,
                     struct dw_rank_test *test)
{
    memcpy(both, a, a_count * sizeof *a);
    memcpy(both + a_count, b, b_count * sizeof *b);
    dw_stat_sort(both, a_count);
    dw_stat_sort(both + a_count, b_count);
    double wins = count_wins(both, a_count, both + a_count, b_count);
    double pairs = (double)a_count * (double)b_count;
    dw_stat_sort(both, a_count + b_count);
    double ties = dw_sum_over_ties(both, a_count + b_count, cube_term), chance = 0;
    test->delta = 2 * wins / pairs - 1;
    if (ties > 0 || pairs > EXACT_PAIRS_MAX) {
        test->p = normal_p(a_count, b_count, wins, ties);
        return 0;
    }
    int error = exact_tail(a_count, b_count, fmin(wins, pairs - wins), &chance);
    test->p = fmin(1, 2 * chance);
    return error;
}

int dw_stat_rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
                      struct dw_rank_test *test)
{
    double *both = malloc((a_count + b_count) * sizeof *both);
    int error = both ? rank_test(both, a, a_count, b, b_count, test) : DW_ERR_MEMORY;
    free(both);
    return error;
}

/* The chance of each rank sum, for up to EXACT_DIFFERENCES_MAX differences. */
struct rank_sums {
    double chance[EXACT_DIFFERENCES_MAX * (EXACT_DIFFERENCES_MAX + 1) / 2 + 1];
    size_t most;
};

static void count_rank_sums(size_t count, struct rank_sums *sums)
{
    *sums = (struct rank_sums){.chance = {1}, .most = count * (count + 1) / 2};
    double *chance = sums->chance;
    for (size_t rank = 1; rank <= count; rank++)
        for (size_t w = sums->most + 1; w-- > 0;)
            chance[w] = (chance[w] + (w >= rank ? chance[w - rank] : 0)) / 2;
}

/* The largest k for which the chance that the rank sum is below k stays within `tail`. */
static size_t exact_rank(size_t count, double tail)
{
    struct rank_sums sums;
    size_t k = 0;
    count_rank_sums(count, &sums);
    for (double sum = sums.chance[0]; sum <= tail && k < sums.most; sum += sums.chance[k])
        k++;
    return k;
}

static double rank_sum_width(double n)
{
    return sqrt(n * (n + 1) * (2 * n + 1) / 24);
}

static size_t signed_rank(size_t count, double confidence)
{
    if (count <= EXACT_DIFFERENCES_MAX)
        return exact_rank(count, (1 - confidence) / 2);
    double n = (double)count, middle = n * (n + 1) / 4;
    double k = middle - dw_stat_normal_width(confidence) * rank_sum_width(n);
    return k > 0 ? (size_t)k : 0;
}

/* The chance of a rank sum of at most `sum` or at least as far on the other side. */
static double signed_rank_p(size_t count, size_t sum)
{
    double n = (double)count, upto = 0;
    if (count > EXACT_DIFFERENCES_MAX) {
        double off = n * (n + 1) / 4 - (double)(sum + 1);
        return off > 0 ? dw_stat_normal_tails(off / rank_sum_width(n)) : 1;
    }
    struct rank_sums sums;
    count_rank_sums(count, &sums);
    for (size_t w = 0; w <= sum && w <= sums.most; w++)
        upto += sums.chance[w];
    return fmin(1, 2 * upto);
}

/* The rank sum of the rarer sign is the number of means on its side. Those of 0 count on both. */
static size_t smaller_rank_sum(const double *means, size_t count)
{
    size_t not_above = 0, not_below = 0;
    for (size_t i = 0; i < count; i++) {
        not_above += means[i] <= 0;
        not_below += means[i] >= 0;
    }
    return not_above < not_below ? not_above : not_below;
}

int dw_stat_centre(const double *differences, size_t count, double confidence,
                   struct dw_estimate *estimate, double *p)
{
    size_t pairs = count * (count + 1) / 2, made = 0;
    double *means = malloc(pairs * sizeof *means);
    if (!means)
        return DW_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++)
            means[made++] = (differences[i] + differences[j]) / 2;
    dw_stat_sort(means, pairs);
    size_t k = signed_rank(count, confidence);
    estimate->value = dw_stat_quantile(means, pairs, 0.5);
    estimate->interval = k ? (struct dw_interval){means[k - 1], means[pairs - k]}
                           : (struct dw_interval){-INFINITY, INFINITY};
    *p = signed_rank_p(count, smaller_rank_sum(means, pairs));
    free(means);
    return 0;
}
