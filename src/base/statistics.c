/* SPDX-License-Identifier: MIT
 * One sample: where it is, how wide, and what speaks against trusting it. */
#include "base/statistics.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TREND_POINTS_MAX 1000 /* the test compares all pairs */
#define BIMODAL_COUNT_MIN 10
#define BIMODAL_SHARE_MIN 0.2
/* How far apart two groups must be, in their own widths. A large normal sample cut in two has
 * 2.7, a uniform one 3.5; small ones scatter. In simulations some 3 of 100 samples of one
 * group pass for two, whatever their size. */
#define BIMODAL_SEPARATION(count) (4 + 45 / (double)(count))

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void dw_stat_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

double dw_stat_quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double dw_stat_normal_tails(double deviations)
{
    return erfc(fabs(deviations) / sqrt(2.0));
}

/* Bisection: it is called a few times in a report, and needs no table. */
double dw_stat_normal_width(double confidence)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (dw_stat_normal_tails(middle) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void measure_spread(const double *values, size_t count, struct dw_summary *summary)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    summary->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - summary->mean) * (values[i] - summary->mean);
    summary->stdev = sqrt(squares / (double)count);
}

/* The chance that exactly k of `count` values lie below the median. */
static double chance_below(size_t count, size_t k)
{
    return exp(lgamma((double)count + 1) - lgamma((double)k + 1) - lgamma((double)(count - k) + 1) +
               log(0.5) * (double)count);
}

/* As many values are left out at each end as the confidence allows. */
static void bound_median(const double *sorted, size_t count, double confidence,
                         struct dw_summary *summary)
{
    double tail = chance_below(count, 0); /* that the median lies below what is kept */
    size_t first = 0;
    for (double more = tail; 2 * (first + 1) < count; first++, tail = more) {
        more += chance_below(count, first + 1);
        if (more > (1 - confidence) / 2)
            break;
    }
    summary->median_interval = (struct dw_interval){sorted[first], sorted[count - 1 - first]};
    summary->interval_confidence = count > 1 ? 1 - 2 * tail : 0;
    summary->is_bounded = summary->interval_confidence >= confidence;
}

/* `scratch` holds the sorted values, and their distances from the median afterwards. */
static void measure_distances(double *scratch, size_t count, struct dw_summary *summary)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(scratch[i] - summary->median);
    dw_stat_sort(scratch, count);
    summary->mad = dw_stat_quantile(scratch, count, 0.5);
    while (summary->mad > 0 && summary->outliers < count &&
           scratch[count - 1 - summary->outliers] > DW_STAT_OUTLIER_MADS * summary->mad)
        summary->outliers++;
}

/* Sums of the values and of their squares, to get the variance of any stretch. */
struct moments {
    double count, sum, squares;
};

static void add_value(struct moments *moments, double value)
{
    moments->count++;
    moments->sum += value;
    moments->squares += value * value;
}

static double deviations(const struct moments *moments)
{
    double squares = moments->squares - moments->sum * moments->sum / moments->count;
    return squares > 0 ? squares : 0;
}

/* Ashman's D of two groups: how far apart they are, in their own widths. */
static double separation(const struct moments *low, const struct moments *high)
{
    double width = deviations(low) / low->count + deviations(high) / high->count;
    double distance = high->sum / high->count - low->sum / low->count;
    return width > 0 ? distance * sqrt(2 / width) : distance > 0 ? INFINITY : 0;
}

/* Cuts the sorted values where the two groups are tightest, and asks whether they are two. */
static bool find_two_groups(const double *sorted, size_t count, double centre)
{
    struct moments low = {0}, high = {0}, best_low = {0}, best_high = {0};
    double tightest = INFINITY;
    for (size_t i = 0; i < count; i++)
        add_value(&high, sorted[i] - centre);
    for (size_t i = 0; i + 1 < count; i++) {
        double value = sorted[i] - centre;
        add_value(&low, value);
        high.count--, high.sum -= value, high.squares -= value * value;
        double spread = deviations(&low) + deviations(&high);
        if (spread < tightest)
            tightest = spread, best_low = low, best_high = high;
    }
    double smaller = fmin(best_low.count, best_high.count);
    return smaller >= BIMODAL_SHARE_MIN * (double)count &&
           separation(&best_low, &best_high) > BIMODAL_SEPARATION(count);
}

/* Long series as the means of consecutive values, in place; returns how many. */
static size_t condense(double *values, size_t count)
{
    size_t each = (count + TREND_POINTS_MAX - 1) / TREND_POINTS_MAX, made = 0;
    for (size_t i = 0; i + each <= count; i += each) {
        double sum = 0;
        for (size_t j = 0; j < each; j++)
            sum += values[i + j];
        values[made++] = sum / (double)each;
    }
    return made;
}

double dw_sum_over_ties(const double *sorted, size_t count, double (*term)(double ties))
{
    double sum = 0;
    for (size_t i = 0, j; i < count; i = j) {
        for (j = i + 1; j < count && sorted[j] == sorted[i]; j++)
            ;
        sum += term((double)(j - i));
    }
    return sum;
}

static double trend_term(double ties)
{
    return ties * (ties - 1) * (2 * ties + 5);
}

static double mann_kendall(double *values, size_t count)
{
    double rises = 0, n = (double)count;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            rises += (values[j] > values[i]) - (values[j] < values[i]);
    dw_stat_sort(values, count);
    double variance =
        (n * (n - 1) * (2 * n + 5) - dw_sum_over_ties(values, count, trend_term)) / 18;
    double steps = fabs(rises) - 1; /* continuity: the sum moves in steps of two */
    return variance > 0 && steps > 0 ? dw_stat_normal_tails(steps / sqrt(variance)) : 1;
}

static void measure_trend(const double *values, size_t count, double *scratch,
                          struct dw_summary *summary)
{
    size_t third = count / 3;
    summary->trend_p = 1;
    if (!third)
        return;
    memcpy(scratch, values, third * sizeof *values);
    dw_stat_sort(scratch, third);
    double first = dw_stat_quantile(scratch, third, 0.5);
    memcpy(scratch, values + count - third, third * sizeof *values);
    dw_stat_sort(scratch, third);
    summary->trend = first > 0 ? dw_stat_quantile(scratch, third, 0.5) / first - 1 : 0;
    memcpy(scratch, values, count * sizeof *values);
    summary->trend_p = mann_kendall(scratch, condense(scratch, count));
}

int dw_stat_summarize(const double *values, size_t count, double confidence,
                      struct dw_summary *summary)
{
    double *scratch = malloc(count * sizeof *scratch);
    if (!scratch)
        return DW_ERR_MEMORY;
    *summary = (struct dw_summary){0};
    measure_spread(values, count, summary);
    measure_trend(values, count, scratch, summary);
    memcpy(scratch, values, count * sizeof *scratch);
    dw_stat_sort(scratch, count);
    summary->min = scratch[0];
    summary->max = scratch[count - 1];
    summary->q1 = dw_stat_quantile(scratch, count, 0.25);
    summary->median = dw_stat_quantile(scratch, count, 0.5);
    summary->q3 = dw_stat_quantile(scratch, count, 0.75);
    bound_median(scratch, count, confidence, summary);
    summary->is_bimodal =
        count >= BIMODAL_COUNT_MIN && find_two_groups(scratch, count, summary->median);
    measure_distances(scratch, count, summary);
    free(scratch);
    return 0;
}
