/* SPDX-License-Identifier: MIT
 * Order statistics and means of samples. Medians have the interval of the sign test, from binomial
 * coefficients that are kept scaled. Means of strata are robust: values are pulled to within
 * `farthest` deviations of the median of their stratum. The deviation is estimated once for all
 * strata, from differences of neighbours in the same stratum. */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct summary summary_unknown = {0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

const struct series series_unknown = {.buffer_set_deviation = NAN,
                                      .autocorrelation = NAN,
                                      .effective = NAN};

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
    if (count > 0) /* qsort takes no null pointer */
        qsort(values, count, sizeof(*values), compare_doubles);
}

void stats_sort_uint32(uint32_t *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof(*values), compare_uint32);
}

uint32_t stats_lower_median(uint32_t *values, size_t count)
{
    stats_sort_uint32(values, count);
    return values[(count - 1) / 2];
}

double stats_median(const double *sorted, size_t count)
{
    const double upper = sorted[count / 2];

    return count % 2 ? upper : sorted[count / 2 - 1] + (upper - sorted[count / 2 - 1]) / 2;
}

size_t stats_median_rank(size_t count, double confidence)
{
    /* The sum of the binomial coefficients C(count, 0) to C(count, k), and the last of them, are
     * kept scaled. Their true values are sum x 2^scale and term x 2^scale, and P(Binomial <= k) is
     * sum x 2^(scale - count). All terms are positive: each step loses a few units of the last
     * digit and nothing cancels. */
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

void stats_describe_sorted(const double *sorted, size_t count, double *scratch, struct summary *out)
{
    out->count = count;
    out->median = stats_median(sorted, count);
    out->min = sorted[0];
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(sorted[i] - out->median);
    stats_sort(scratch, count);
    out->mad = stats_median(scratch, count);
}

void stats_summarize(const double *samples, size_t count, double *sorted, struct summary *out)
{
    const size_t rank = stats_median_rank(count, STATS_CONFIDENCE);

    for (size_t i = 0; i < count; i++)
        sorted[i] = samples[i];
    stats_sort(sorted, count);
    out->ci_low = rank ? sorted[rank - 1] : NAN;
    out->ci_high = rank ? sorted[count - rank] : NAN;
    stats_describe_sorted(sorted, count, sorted, out);
    out->value = out->median;
}

double stats_relative_half_width(const struct summary *summary)
{
    const double half = (summary->ci_high - summary->ci_low) / 2;

    /* The negated comparison also catches NaN, from a missing interval. */
    if (!(half >= 0) || !(summary->value > 0))
        return INFINITY;
    return half / summary->value;
}

/* -- the mean over strata ---------------------------------------------------------------------- */

/* Deviations from the median of its stratum at which a sample counts no further. */
static const double farthest = 3;

double stats_stratum_mean(const double *values, size_t count, size_t strata, size_t first)
{
    double mean = 0, n = 0;

    for (size_t i = first; i < count; i += strata)
        mean += (values[i] - mean) / ++n;
    return mean;
}

void stats_spread(double *samples, size_t count, struct summary *out)
{
    const size_t cut = (size_t)((1 - STATS_CONFIDENCE) / 2 * (double)count), last = count - 1 - cut;

    stats_sort(samples, count);
    *out = (struct summary){.count = count,
                            .value = stats_stratum_mean(samples, last + 1, 1, cut),
                            .ci_low = samples[cut],
                            .ci_high = samples[last]};
}

/* One stratum: Tukey and McLaughlin (1963). */
static struct strata_mean trimmed_mean(const double *samples, size_t count, double *scratch)
{
    const size_t cut = count < 5 ? 0 : count < 10 ? 1 : count / 10, left = count - 2 * cut;
    struct strata_mean out = {.error = NAN};
    double low, high, mean, squares = 0, sum = 0;

    memcpy(scratch, samples, count * sizeof(*samples));
    stats_sort(scratch, count);
    low = scratch[cut];
    high = scratch[count - 1 - cut];
    /* Values between two ends, relative to the lower end: the lowest, which are cut, become 0. */
    for (size_t i = 0; i < count; i++) {
        scratch[i] = fmin(fmax(samples[i], low), high) - low;
        sum += scratch[i];
    }
    out.value = low + (sum - (double)cut * (high - low)) / (double)left;
    if (count < STATS_SAMPLES_MIN)
        return out;
    mean = stats_stratum_mean(scratch, count, 1, 0);
    for (size_t i = 0; i < count; i++)
        squares += (scratch[i] - mean) * (scratch[i] - mean);
    out.degrees = (double)(left - 1);
    out.error = sqrt(squares / (double)(count - 1) * (double)count) / (double)left;
    return out;
}

struct strata_mean stats_strata_mean(const double *samples, size_t count, size_t strata,
                                     double *scratch)
{
    const bool each = count >= 2 * strata; /* of the strata has two samples */
    struct strata_mean out = {.error = NAN};
    double reach = INFINITY, squares = 0, between = 0, inverse = 0;

    if (strata < 2 || count < strata)
        return trimmed_mean(samples, count, scratch);
    if (each) {
        for (size_t i = strata; i < count; i++)
            scratch[i - strata] = fabs(samples[i] - samples[i - strata]);
        stats_sort(scratch, count - strata);
        reach =
            farthest * stats_median(scratch, count - strata) / (STATS_NORMAL_QUARTILE * sqrt(2));
    }
    for (size_t first = 0; first < strata; first++) {
        double mean, median, step;
        size_t n = 0;

        for (size_t i = first; i < count; i += strata)
            scratch[n++] = samples[i];
        stats_sort(scratch, n);
        median = stats_median(scratch, n);
        for (size_t i = 0; n > 2 && i < n; i++)
            scratch[i] = fmin(fmax(scratch[i], median - reach), median + reach);
        mean = stats_stratum_mean(scratch, n, 1, 0);
        for (size_t i = 0; i < n; i++)
            squares += (scratch[i] - mean) * (scratch[i] - mean);
        step = mean - out.value;
        out.value += step / (double)(first + 1);
        between += step * (mean - out.value);
        inverse += 1 / (double)n;
    }
    if (count < STATS_SAMPLES_MIN)
        return out;
    between /= (double)(strata - 1);
    out.degrees = (double)(each ? count - strata : strata - 1);
    if (!each) { /* all that strata differ by may be an error */
        out.error = sqrt(between / (double)strata);
        return out;
    }
    squares /= out.degrees; /* the variance within strata */
    out.error = sqrt(squares * inverse) / (double)strata;
    /* The variance of the mean over newly drawn strata: Searle, Linear Models, 1971, chapter 9. */
    out.strata = sqrt(fmax(between - squares * inverse / (double)strata, 0) / (double)strata);
    return out;
}
