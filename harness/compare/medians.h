/* SPDX-License-Identifier: MIT
 * Whether the medians of two sets of values differ, where one value in many is far off. */
#pragma once

#include <stddef.h>

/* The two-sided probability that more than half of `count` >= 1 values lie beyond z deviations on
 * one side: binomial. A value has the tails of Student's t of three degrees of freedom, and its
 * deviation is that of a normal distribution with the same quartiles. */
double medians_tail(size_t count, double z);

/* The probability that the medians of two sets differ by z deviations of one value or more. The
 * difference is divided between the sets in the way that is most likely. */
double medians_p(double z, size_t base, size_t new_count);
