/* SPDX-License-Identifier: MIT
 * What a series of samples says beside its median: how far they depend on each other and on where the buffers lay, into
 * how many modes they fall, and how many lie far out. */
#ifndef CBANK_SERIES_H
#define CBANK_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "stats.h"

/* Samples that were taken on several placements in turn: sample i on placement i modulo their number. */
struct series {
    uint32_t placements;        /* 1: all on the same; 0: not known, as is all that follows */
    double within;              /* rho, see below */
    double
        placement_deviation; /* standard deviation of the placements' medians, as a share of the median; NaN for one */
    double autocorrelation; /* of neighbours in time, of ranks, what placements do taken out; NaN for too few */
    double modes; /* 1, or as many as are told apart; NaN for too few */
    double outliers; /* share beyond Tukey's fences, 1.5 quartile ranges outside the quartiles */
    double effective; /* independent samples that tell as much of the median; at most the count */
};

extern const struct series series_unknown;

/* Doubles of scratch for a series of `count` samples. */
#define SERIES_SCRATCH(count) (8 * (count))

/* Summary of samples[0 .. count - 1], count >= 1, over `placements` >= 1, and of the series what that takes: its
 * interval is that of `effective` samples.
 *
 * 1 / effective = rho / placements + (1 - rho) / count x (1 + r) / (1 - r). rho is the correlation of the samples of a
 * placement within each other (one-way analysis of variance, on ranks): the share of the variance that is between
 * placements, whose number tells how well it is known. With r = 0 that is Kish's design effect (Survey Sampling, 1965,
 * section 5.4). r is the autocorrelation of what is left, its factor that of Bayley and Hammersley (The effective number
 * of independent observations in an autocorrelated time series, 1946). Neither correlation counts below 0. Where a
 * placement has fewer than two samples, rho is not known: `effective` is at most the number of placements. */
void series_summarize(const double *samples, size_t count, uint32_t placements, double *scratch, struct series *series,
                      struct summary *summary);

/* Fills the rest of a series that was summarized: of the same samples.
 *
 * Modes are the two groups that differ most, and those of each, where the groups' medians differ by more than `apart`
 * and either the dip test of Hartigan and Hartigan (The dip test of unimodality, 1985) says at 1 % that there is more
 * than one mode, or the groups leave less than a tenth of the variance. What a placement's median differs by is taken
 * out first, where rho is plain: a spread of placements is no mode. Nor are the steps of the clock: equal values are
 * spread over a step first. */
void series_describe(const double *samples, size_t count, double apart, double *scratch, struct series *series);

/* The dip of sorted values: the greatest distance of their distribution to the nearest that has one mode; scratch is
 * room for 6 x count doubles. */
double series_dip(const double *sorted, size_t count, double *scratch);

#endif
