/* SPDX-License-Identifier: MIT
 * Order statistics of a set of samples. */
#ifndef CBANK_STATS_H
#define CBANK_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Coverage that every interval in cbank is asked for. */
#define STATS_CONFIDENCE 0.95

/* Sorts values[0 .. count - 1], ascending. Values are numbers, never NaN. */
void stats_sort(double *values, size_t count);
void stats_sort_uint32(uint32_t *values, size_t count);

/* The median of values that are sorted; count >= 1. Of an even count the middle of the two in the middle. */
double stats_median(const double *sorted, size_t count);

/* The same of values in any order, which it changes; in time that grows with their number (Hoare, Find, CACM 4, 1961). */
double stats_median_unsorted(double *values, size_t count);

/* The value that stands at `rank`, from 0, of `count` that are sorted; of values in any order, which it changes, too. */
double stats_select(double *values, size_t count, size_t rank);

struct summary {
    size_t count;
    double median;
    double ci_low, ci_high; /* distribution-free interval of the median; NaN where count is too small */
    double min;
    double mad; /* median absolute deviation from the median, not scaled */
};

/* Summary of samples[0 .. count - 1]; sorted is room for count doubles, overwritten. count >= 1.
 *
 * The interval is [x_(k), x_(n+1-k)], order statistics from 1, with the largest k for which
 * P(Binomial(n, 1/2) <= k - 1) <= (1 - STATS_CONFIDENCE) / 2. It needs no distribution and n >= 6. */
void stats_summarize(const double *samples, size_t count, double *sorted, struct summary *out);

/* The same of values that are sorted and tell no more than `effective` <= count independent ones: the interval is theirs, at
 * the same quantiles of all; the whole range where so few have none. scratch is room for count doubles, and may be
 * sorted[] itself. */
void stats_summarize_sorted(const double *sorted, size_t count, double effective, double *scratch, struct summary *out);

/* The k above; 0 when n is too small for the confidence. */
size_t stats_median_rank(size_t count, double confidence);

/* Half the width of the interval over the median; infinite where there is no interval. */
double stats_relative_half_width(const struct summary *summary);

#endif
