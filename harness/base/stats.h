/* SPDX-License-Identifier: MIT
 * Order statistics of a set of samples. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "optional.h"

/* Coverage of every interval in cbank, and half its width in standard errors for a normal
 * distribution. */
#define STATS_CONFIDENCE    0.95
#define STATS_ERRORS_TO_END 1.959964

/* Sorts `count` values, ascending. Values must not be NaN. */
void stats_sort(double *values, size_t count);
void stats_sort_uint32(uint32_t *values, size_t count);

/* Sorts the values, and returns their median; for an even count, the lower of the two in the
 * middle. */
uint32_t stats_lower_median(uint32_t *values, size_t count);

/* The median of at least one sorted value; for an even count, the mean of the two in the middle. */
double stats_median(const double *sorted, size_t count);

struct summary {
    size_t count;
    /* the representative value: the median, or for times the mean over buffer sets (series.h) */
    double value;
    double ci_low, ci_high; /* its interval; NaN where count is too small */
    /* Half of it by the samples alone, and by what is assumed of processes: they add as squares;
     * NaN likewise. */
    double samples_half, assumed_half;
    double median;
    double min;
    double mad; /* median absolute deviation from the median, not scaled */
};

/* Samples that were taken on several buffer sets in turn: sample i on buffer set i modulo their
 * number. */
struct series {
    uint32_t buffer_sets; /* 1: all on the same; 0: not known, as is all that follows */
    /* rho: correlation of the samples of a buffer set within each other (one-way analysis of
     * variance, on ranks): the share of the variance that is between buffer sets. */
    double within;
    /* Standard deviation of the buffer sets' medians, as a share of the median; NaN for one. */
    double buffer_set_deviation;
    /* of neighbours in time, of ranks, what buffer sets do taken out; NaN for too few */
    double autocorrelation;
    struct optional modes; /* 1, or as many as are told apart; not known of too few samples */
    struct optional outliers; /* beyond Tukey's fences, 1.5 quartile ranges outside the quartiles */
    double effective; /* independent samples that tell as much; at most the count */
};

extern const struct summary summary_unknown; /* of no samples */
extern const struct series series_unknown;

/* Summary of samples[0 .. count - 1], by their median; sorted is room for count doubles,
 * overwritten. count >= 1.
 *
 * The interval is [x_(k), x_(n+1-k)], order statistics from 1, with the largest k for which
 * P(Binomial(n, 1/2) <= k - 1) <= (1 - STATS_CONFIDENCE) / 2. It needs no distribution and n >=
 * 6. */
void stats_summarize(const double *samples, size_t count, double *sorted, struct summary *out);

/* Summary of values that differ by place, such as the latencies of lines. ci_low and ci_high are
 * the 2.5th and the 97.5th percentile, and value is the mean of those between. Sorts the samples.
 * count >= 1. */
void stats_spread(double *samples, size_t count, struct summary *out);

/* Sets count, median, min and mad from sorted values. scratch has room for count doubles, and may
 * be sorted[] itself. */
void stats_describe_sorted(const double *sorted, size_t count, double *scratch,
                           struct summary *out);

/* The k above; 0 if n is too small for the confidence. */
size_t stats_median_rank(size_t count, double confidence);

/* Half the width of the interval, relative to the value; infinite if there is no interval. */
double stats_relative_half_width(const struct summary *summary);

/* The mean of values first, first + strata and so on, below index `count`. There is at least
 * one. */
double stats_stratum_mean(const double *values, size_t count, size_t strata, size_t first);

/* Fewest samples for an interval: those that a median needs at STATS_CONFIDENCE. */
#define STATS_SAMPLES_MIN 6

/* The upper quartile of a normal distribution of deviation 1. */
#define STATS_NORMAL_QUARTILE 0.6744897501960817

/* A mean over strata and its error. */
struct strata_mean {
    double value;
    double error; /* its standard error; NaN for fewer than STATS_SAMPLES_MIN samples */
    double degrees; /* of freedom of that error */
    /* Error that other strata would add, from a one-way analysis of variance; 0: not known, or one
     * stratum. */
    double strata;
};

/* The mean over strata of a robust mean of each, from `count` samples, at least one. Sample i
 * belongs to stratum i modulo `strata`, and further samples would have the same strata: the error
 * is that of samples within strata. A stratum that is slow counts as much as any other.
 *
 * With three samples or more, those beyond three deviations from the stratum's median are moved
 * there. The deviation is the same for all strata: of the median difference of neighbours within a
 * stratum. With two nobody can tell which is right: the error holds what they differ by. If a
 * stratum has one sample, so does the error what strata differ by.
 *
 * With one stratum, or none known, or fewer samples than strata, the smallest and the largest tenth
 * are cut, at least one of five. The error is then that of Tukey and McLaughlin (Less vulnerable
 * confidence and significance procedures for location, Sankhya A 25, 1963). scratch: room for count
 * doubles. */
struct strata_mean stats_strata_mean(const double *samples, size_t count, size_t strata,
                                     double *scratch);
