/* SPDX-License-Identifier: MIT
 * Order statistics of a set of samples. */
#ifndef CBANK_STATS_H
#define CBANK_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Coverage that every interval in cbank is asked for, and the errors from a value to an end of it where they are
 * normal. */
#define STATS_CONFIDENCE    0.95
#define STATS_ERRORS_TO_END 1.959964

/* Sorts values[0 .. count - 1], ascending. Values are numbers, never NaN. */
void stats_sort(double *values, size_t count);
void stats_sort_uint32(uint32_t *values, size_t count);

/* Sorts the values, and returns their median; of an even count the lower one of the two in the middle. */
uint32_t stats_lower_median(uint32_t *values, size_t count);

/* The median of values that are sorted; count >= 1. The mean of the two in the middle where the count is even. */
double stats_median(const double *sorted, size_t count);

struct summary {
    size_t count;
    double value; /* what stands for them all: the median, or of times the trimmed mean (series.h) */
    double ci_low, ci_high; /* its interval; NaN where count is too small */
    double median;
    double min;
    double mad; /* median absolute deviation from the median, not scaled */
};

/* Samples that were taken on several placements in turn: sample i on placement i modulo their number. */
struct series {
    uint32_t placements;        /* 1: all on the same; 0: not known, as is all that follows */
    double within; /* rho: correlation of the samples of a placement within each other (one-way analysis of variance, on
                      ranks): the share of the variance that is between placements */
    double
        placement_deviation; /* standard deviation of the placements' medians, as a share of the median; NaN for one */
    double autocorrelation; /* of neighbours in time, of ranks, what placements do taken out; NaN for too few */
    double modes; /* 1, or as many as are told apart; NaN for too few samples */
    double outliers; /* share beyond Tukey's fences, 1.5 quartile ranges outside the quartiles */
    double effective; /* independent samples that tell as much; at most the count */
};

extern const struct series series_unknown;

/* Summary of samples[0 .. count - 1], by their median; sorted is room for count doubles, overwritten. count >= 1.
 *
 * The interval is [x_(k), x_(n+1-k)], order statistics from 1, with the largest k for which
 * P(Binomial(n, 1/2) <= k - 1) <= (1 - STATS_CONFIDENCE) / 2. It needs no distribution and n >= 6. */
void stats_summarize(const double *samples, size_t count, double *sorted, struct summary *out);

/* Count, median, min and mad of values that are sorted; scratch is room for count doubles, and may be sorted[]
 * itself. */
void stats_describe_sorted(const double *sorted, size_t count, double *scratch, struct summary *out);

/* The k above; 0 when n is too small for the confidence. */
size_t stats_median_rank(size_t count, double confidence);

/* Half the width of the interval over the value; infinite where there is no interval. */
double stats_relative_half_width(const struct summary *summary);

/* The mean of values first, first + strata, ... below count. There is one at least. */
double stats_stratum_mean(const double *values, size_t count, size_t strata, size_t first);

/* Fewest samples that an interval is told of: as many as a median needs at STATS_CONFIDENCE. */
#define STATS_SAMPLES_MIN 6

/* A trimmed mean and how sure it is. */
struct trimmed_mean {
    double value;
    double error; /* its standard error; NaN of fewer than STATS_SAMPLES_MIN samples */
    double degrees; /* of freedom of that error */
    double strata; /* error that other strata would add: from one-way analysis of variance; 0 of one stratum */
};

/* The mean of samples[0 .. count - 1], count >= 1, without the tenth at each end that is smallest and largest;
 * without one at each end at least, of five or more. Sample i is of stratum i modulo `strata`, and further samples
 * would be of the same strata: the error is that of samples within them. It is the root of
 *
 *     sum (w - mean of w in its stratum)^2 / (n - strata), over (h / n) sqrt n
 *
 * of the winsorized samples w, h of n left after trimming, with h - strata degrees of freedom. With one stratum that
 * is Tukey and McLaughlin's (Less vulnerable confidence and significance procedures for location, Sankhya A 25,
 * 1963). Where a stratum has fewer than two samples, or strata is 0, there is one. scratch: room for count doubles. */
struct trimmed_mean stats_trimmed_mean(const double *samples, size_t count, size_t strata, double *scratch);

#endif
