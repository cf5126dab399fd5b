/* SPDX-License-Identifier: MIT
 * Statistics of a series of samples: its trimmed mean with an interval, how far samples depend on each other and on
 * their buffers, the number of modes, and of outliers. */
#ifndef CBANK_SERIES_H
#define CBANK_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "stats.h"

/* Doubles of scratch for a series of `count` samples. */
#define SERIES_SCRATCH(count) (8 * (count))

/* Summary of samples[0 .. count - 1], count >= 1, over `placements` >= 1, and of the series what that takes. The
 * value is the trimmed mean, whose strata are the placements (stats.h). Every process has the same placements in
 * turn, so their differences are no error of the mean. The interval is Student's t at STATS_CONFIDENCE, widened by
 * SERIES_PROCESS: the deviation between processes of the cells whose samples agreed best (docs/comparing.md).
 *
 * Samples that depend on those before tell less: effective = count x (1 - r) / (1 + r). r is the autocorrelation
 * without the placements' means, at least 0 (Bayley and Hammersley, The effective number of independent observations
 * in an autocorrelated time series, 1946). Error and degrees of freedom are those of so many. */
void series_summarize(const double *samples, size_t count, uint32_t placements, double *scratch, struct series *series,
                      struct summary *summary);

/* A share of the time, of one deviation. */
#define SERIES_PROCESS 0.0005

/* Half the width of such an interval over the value, without SERIES_PROCESS; infinite where there is no interval. */
double series_own_half_width(const struct summary *summary);

/* ns, of one deviation, where memory is copied before every launch: how far processes differ then, by trials
 * (docs/comparing.md). */
#define SERIES_COPIES_NS 100

/* Widens an interval, if there is one, by a deviation between processes of so many ns. The two add as squares. */
void series_widen(struct summary *summary, double ns);

/* Fills the rest of a series that was summarized: of the same samples.
 *
 * Modes are the two groups that differ most, and those of each. Their medians differ by more than `apart`, and one
 * of two tests agrees: the dip test at 1 % (Hartigan and Hartigan, The dip test of unimodality, 1985), or the groups
 * leave less than a tenth of the variance. Differences of placements' medians are taken out first where rho is
 * plain: a spread of placements is no mode. Nor are the steps of the clock: equal values are spread over a step
 * first. Where placements have fewer than two samples each, several modes are not told: they may be theirs. */
void series_describe(const double *samples, size_t count, double apart, double *scratch, struct series *series);

/* The dip of sorted values: the greatest distance of their distribution to the nearest that has one mode; scratch is
 * room for 6 x count doubles. */
double series_dip(const double *sorted, size_t count, double *scratch);

#endif
