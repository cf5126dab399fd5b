/* SPDX-License-Identifier: MIT
 * Means of durations by a coarse timer. */
#include "ticks.h"

#include <math.h>

#include "stats.h"
#include "student.h"

static const double rounding_ns = 2; /* of two readings, each rounded to whole ns */

struct ticks_mean ticks_mean(const double *samples, size_t count, size_t strata, double tick,
                             double *scratch)
{
    const struct strata_mean mean = stats_strata_mean(samples, count, strata, scratch);

    return (struct ticks_mean){
        .value = mean.value,
        .half = isnan(mean.error) ? NAN
                                  : tick + mean.error * student_quantile(1 - STATS_CONFIDENCE,
                                                                         fmax(1, mean.degrees)),
    };
}

double ticks_of(const double *sorted, size_t count, double least)
{
    double tick = INFINITY;

    for (size_t i = 1; i < count; i++)
        if (sorted[i] - sorted[i - 1] > rounding_ns)
            tick = fmin(tick, sorted[i] - sorted[i - 1]);
    return isfinite(tick) ? fmax(tick, least) : least;
}
