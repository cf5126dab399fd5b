/* SPDX-License-Identifier: MIT
 * The estimate of a side, the ratio of two, and Holm's correction. */
#ifndef CBANK_RATIO_H
#define CBANK_RATIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deviation.h"

/* What the samples of one cell in one process say: they themselves are not kept, since results have many. */
struct process_time {
    size_t count;        /* of samples, at least 1 */
    const char *process; /* not owned: which process it is, a text that no other has; NULL: not known */
    double value, error,
        least; /* value: the trimmed mean; error: standard error of its logarithm, NaN where not known */
    double placed; /* standard error that other placements would add; 0 where there is one, or nothing is known */
    uint64_t
        samples; /* a number that follows from all of them, in whatever order they are; 0 in a store, without them */
};

/* Of such samples, count >= 1, taken on so many placements in turn (0: not known), with room for `count` of them; of a process
 * that is not known. The error has nothing of what placements differ by (stats_trimmed_mean). */
struct process_time process_of(const double *samples, size_t count, uint32_t placements, double *scratch);

/* The standard error of a time's logarithm, of which the interval of STATS_CONFIDENCE is this (series.h), without
 * SERIES_PROCESS. That of a cell that copies before every launch has SERIES_COPIES_NS, too. NaN where there is no interval. */
double process_error(double ci_low, double ci_high);

/* Whether two are the same samples of the same process. */
bool process_same(const struct process_time *one, const struct process_time *other);

/* One side of a comparison of one cell. */
struct sample_side {
    const struct process_time *processes; /* not owned */
    size_t count; /* at least 1 */
    bool modelled; /* predictions, which do not differ between processes */
};

/* What a side says of a cell. */
struct estimate {
    double ns; /* the median of the times of its processes */
    double within; /* standard error of such a time within its process, of its logarithm: root of the mean
                             square over the processes; NaN where one has too few samples to say */
    struct deviation own; /* between the times of its processes */
    double placed; /* standard error that other placements would add: all its processes have the same ones */
};

/* STATUS_ENVIRONMENT when out of memory. */
enum status side_estimate(const struct sample_side *side, struct estimate *out);

/* The ratio new / base of the estimates. */
struct ratio {
    double value;
    double ci_low, ci_high; /* at a level; NaN where nothing is known to make them of */
    double p; /* two-sided, of the ratio being 1; NaN likewise */
};

/* Intervals that leave out the truth with probability `p`. Most cells have as many degrees of freedom as the one before:
 * Student's t of those is found once. */
struct ratio_level {
    double p;
    double degrees, t; /* 0 before the first ratio */
};

/* A ratio whose logarithm has a standard error, with its interval. An error that is not known leaves interval and p
 * unknown. */
struct ratio ratio_of(double value, const struct deviation *error, struct ratio_level *level);

/* Holm's step-down correction (1979) of count p, each where it stands: monotone and at most 1. The pointers end up in
 * the order of what they point to. */
void holm_adjust(double **p, size_t count);

#endif
