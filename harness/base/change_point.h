/* SPDX-License-Identifier: MIT
 * Change points: where the level of a sequence changes. */
#ifndef CBANK_CHANGE_POINT_H
#define CBANK_CHANGE_POINT_H

#include <stddef.h>

#include "status.h"

struct segment {
    size_t first, count; /* values[first .. first + count - 1] */
    double level;        /* their mean */
};

/* Splits values[0 .. count - 1], count >= 1, into the segments whose squared deviations from their means, with a
 * penalty for each segment, add up to the least: the exact minimum, by dynamic programming (optimal partitioning:
 * Jackson and others, IEEE Signal Processing Letters 12, 2005), in count^2 steps. No segment is shorter than `least`,
 * unless count is.
 *
 * * The penalty is 3 s^2 log(count), Schwarz's criterion for a change's place and level and a margin (Yao, Statistics
 * and Probability Letters 6, 1988, shows it consistent). s, the deviation within segments, is the larger of `noise`
 * and the median absolute difference of neighbours / (0.6745 sqrt 2), which changes of level do not move while they
 * are few.
 *
 * * segments: room for count. *found: how many there are. STATUS_ENVIRONMENT: out of memory. */
enum status change_point_find(const double *values, size_t count, size_t least, double noise, struct segment *segments,
                              size_t *found);

#endif
