/* SPDX-License-Identifier: MIT
 * Statistics of a series of samples: the mean over buffer sets with its interval, the dependence of
 * samples on each other and on their buffers, modes and outliers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stats.h"

/* Doubles of scratch for a series of `count` samples. */
#define SERIES_SCRATCH(count) (3 * (count))

/* Summarizes `count` samples, at least one, over at least one buffer set; sets the statistics of
 * the series that this needs. The value is the mean over buffer sets of a robust mean of each
 * (stats_strata_mean). Every process uses the same buffer sets in turn, so their differences are
 * not an error of the mean. The interval is Student's t at STATS_CONFIDENCE, which `samples_half`
 * has alone, widened by SERIES_PROCESS, which `assumed_half` has alone.
 *
 * Samples that depend on earlier ones carry less information: effective = count x (1 - r) / (1 +
 * r). r is the autocorrelation without the buffer sets' means, at least 0 (Bayley and Hammersley,
 * The effective number of independent observations in an autocorrelated time series, 1946). Error
 * and degrees of freedom are those for `effective` samples. */
void series_summarize(const double *samples, size_t count, uint32_t buffer_sets, double *scratch,
                      struct series *series, struct summary *summary);

/* Processes are assumed to differ by this: one standard deviation, as a share of the time. On one
 * occasion they were seen to differ by less (deviation.c); nobody measured how far they do on
 * other days. */
#define SERIES_PROCESS 0.0005

/* Half the width of that interval, relative to the value, without SERIES_PROCESS; infinite if there
 * is no interval. */
double series_own_half_width(const struct summary *summary);

/* One standard deviation between processes, in ns, for cells that copy memory before every launch;
 * from trials (docs/comparing.md). */
#define SERIES_COPIES_NS 100

/* Widens an interval, if there is one, by a deviation between processes in ns. The two add as
 * squares. */
void series_widen(struct summary *summary, double ns);

/* Sets the rest of a summarized series, from the same samples.
 *
 * Modes are the two groups that differ most, and then those within each. Their medians differ by
 * more than `apart`, and one of two tests agrees. One is the dip test at 1 % (Hartigan and
 * Hartigan, The dip test of unimodality, 1985); in the other, the groups leave less than a tenth of
 * the variance. Clear differences between buffer sets (by rho) are subtracted first: a spread of
 * buffer sets is not a mode. Steps of the clock are no modes either: equal values are first spread
 * over a step. With fewer than two samples in each buffer set, several modes are not reported: they
 * may belong to the buffer sets. */
void series_describe(const double *samples, size_t count, double apart, double *scratch,
                     struct series *series);

/* medians[k]: of the samples of buffer set k, of `sets` <= count; sorted is room for
 * (count + sets - 1) / sets doubles, overwritten. */
void series_set_medians(const double *samples, size_t count, size_t sets, double *sorted,
                        double *medians);

/* The dip of sorted values that all differ: the greatest distance of their distribution to the
 * nearest one with a single mode. */
double series_dip(const double *sorted, size_t count);
