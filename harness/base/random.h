/* SPDX-License-Identifier: MIT
 * Reproducible pseudo-random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef CBANK_RANDOM_H
#define CBANK_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The next number of the sequence that *state stands in. */
uint64_t random_next(uint64_t *state);

/* Fills values[0 .. count - 1] with the high halves of the first numbers of the sequence of `seed`, made floats of +-[1, 2)
 * by setting the exponent: sign and fraction are random, and as integers they are as good as any. */
void random_fill_floats(uint64_t seed, uint32_t *values, size_t count);

/* Shuffles items[0 .. count - 1] (Fisher and Yates), drawing from *state. */
void random_shuffle(uint64_t *state, size_t *items, size_t count);

#endif
