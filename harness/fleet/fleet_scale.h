/* SPDX-License-Identifier: MIT
 * Robust scales: how much values spread whatever a few of them do. Each is that of a standard deviation where values are
 * normal. */
#ifndef CBANK_FLEET_SCALE_H
#define CBANK_FLEET_SCALE_H

#include <stddef.h>

/* Qn, of Rousseeuw and Croux (Alternatives to the median absolute deviation, JASA 88, 1993): the k-th smallest distance
 * of two values, k = h (h - 1) / 2, h = n / 2 + 1, times 2.2219 and a factor for small n (Croux and Rousseeuw,
 * Time-efficient algorithms for two highly robust estimators of scale, COMPSTAT 1992). Half of the values can be
 * anything; its efficiency is 0.82. `sorted` ascending; NaN for fewer than two. */
double fleet_qn(const double *sorted, size_t count);

/* Of differences of neighbours in series: their median absolute value / (0.6745 sqrt 2), which a step does not move.
 * Changes the order of the `count` >= 1 absolute differences. */
double fleet_difference_scale(double *differences, size_t count);

#endif
