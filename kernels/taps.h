/* SPDX-License-Identifier: MIT
 * The taps of a filter along a row of an image, in double precision: the inner loop of the reference of convolutions. */
#ifndef CBANK_TAPS_H
#define CBANK_TAPS_H

#include <stdint.h>

enum { TAPS_AT_ONCE = 8 }; /* sums that are added to at a time: as many as registers hold */

/* Doubles of input for `count` sums by filters of a radius. */
#define TAPS_INPUT(count, radius) ((count) + 2 * (radius) + TAPS_AT_ONCE)

/* What a row of floats, `width` of them, has for the sums of `count` elements from x on: input[0] is of element x - radius.
 * Zeros where the row has none. */
void taps_read(const uint32_t *row, uint64_t width, int64_t x, uint32_t count, int64_t radius, double *input);

/* Adds values[i] * input[k + i] over all taps to sum[k], for k below count; reads TAPS_INPUT of input. */
void taps_add(const double *input, const double *values, uint32_t taps, uint32_t count, double *sum);

#endif
