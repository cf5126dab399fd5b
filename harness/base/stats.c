/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

static int compare_uint32(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

void stats_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
}

void stats_sort_uint32(uint32_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_uint32);
}

double stats_median(const double *sorted, size_t count)
{
    const double upper = sorted[count / 2];

    return count % 2 ? upper : sorted[count / 2 - 1] + (upper - sorted[count / 2 - 1]) / 2;
}

static void swap(double *a, double *b)
{
    const double kept = *a;

    *a = *b;
    *b = kept;
}

/* Leaves them in such an order that none before that rank is larger than it, none behind it smaller. */
double stats_select(double *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        const double pivot = values[rank];
        size_t i = low, j = high;

        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;
            swap(&values[i++], &values[j]);
            if (j == 0)
                break;
            j--;
        }
        if (j < rank)
            low = i;
        if (rank < i)
            high = j;
    }
    return values[rank];
}

double stats_median_unsorted(double *values, size_t count)
{
    const size_t half = count / 2;
    double below;

    stats_select(values, count, half);
    if (count % 2)
        return values[half];
    below = values[0];
    for (size_t i = 1; i < half; i++)
        below = fmax(below, values[i]);
    return below + (values[half] - below) / 2;
}

size_t stats_median_rank(size_t count, double confidence)
{
    /* The sum of the binomial coefficients C(count, 0 .. k), and the last of them, are kept scaled: their
     * true values are sum x 2^scale and term x 2^scale, and P(Binomial <= k) is sum x 2^(scale - count).
     * The terms are all positive: each step loses a few units of the last digit and nothing cancels. */
    const int step = 512;
    const double tail = (1 - confidence) / 2;
    double term = 1, sum = 1;
    long scale = -(long)count;
    size_t k = 0;

    while (k < count / 2 && ldexp(sum, (int)scale) <= tail) {
        term = term * (double)(count - k) / (double)(k + 1);
        sum += term;
        k++;
        if (sum > ldexp(1, step)) {
            sum = ldexp(sum, -step);
            term = ldexp(term, -step);
            scale += step;
        }
    }
    return k;
}

/* The interval of sorted values that tell no more than `effective` independent ones. */
static void find_interval(const double *sorted, size_t count, double effective, struct summary *out)
{
    const size_t enough = stats_median_rank(count, STATS_CONFIDENCE);
    const size_t rank = stats_median_rank((size_t)effective, STATS_CONFIDENCE);
    /* The same quantile among all; where so few have no interval, all there is. */
    const size_t same = (size_t)((double)rank * (double)(count + 1) / ((double)(size_t)effective + 1));
    const size_t k = rank ? same : 1;

    out->ci_low = enough ? sorted[k - 1] : NAN;
    out->ci_high = enough ? sorted[count - k] : NAN;
}

void stats_summarize_sorted(const double *sorted, size_t count, double effective, double *scratch, struct summary *out)
{
    out->count = count;
    out->median = stats_median(sorted, count);
    out->min = sorted[0];
    find_interval(sorted, count, effective, out);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(sorted[i] - out->median);
    stats_sort(scratch, count);
    out->mad = stats_median(scratch, count);
}

void stats_summarize(const double *samples, size_t count, double *sorted, struct summary *out)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = samples[i];
    stats_sort(sorted, count);
    stats_summarize_sorted(sorted, count, (double)count, sorted, out);
}

double stats_relative_half_width(const struct summary *summary)
{
    const double half = (summary->ci_high - summary->ci_low) / 2;

    /* Written so that NaN, from a missing interval, is caught too. */
    if (!(half >= 0) || !(summary->median > 0))
        return INFINITY;
    return half / summary->median;
}
