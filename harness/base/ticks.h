/* SPDX-License-Identifier: MIT
 * Means of durations that a coarse timer measured: each is the difference of two readings, which
 * are multiples of a tick. */
#pragma once

#include <stddef.h>

/* A mean over strata (stats_strata_mean) and half its 95 % interval. */
struct ticks_mean {
    double value, half; /* `half` is NaN for fewer than STATS_SAMPLES_MIN samples */
};

/* The mean of count >= 1 samples, of `strata` in turn. A reading is late by less than a tick, and
 * nobody knows where within a tick a launch starts: it may be the same place each time. So a
 * duration is off by less than a tick either way, and more samples do not help. `half` is a tick
 * more than Student's interval of the samples. scratch: room for count doubles. */
struct ticks_mean ticks_mean(const double *samples, size_t count, size_t strata, double tick,
                             double *scratch);

/* The tick by sorted durations: the least distance of two that differ by more than their rounding
 * to whole ns; at least `least`. */
double ticks_of(const double *sorted, size_t count, double least);
