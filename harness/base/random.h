/* SPDX-License-Identifier: MIT
 * Reproducible pseudo-random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the next number of the sequence, and advances *state. */
uint64_t random_next(uint64_t *state);

/* Fills `values` with the high halves of the first `count` numbers of the sequence of `seed`.
 * Setting the exponent makes them floats of +-[1, 2): sign and fraction are random. As integers
 * they are as good as any. */
void random_fill_floats(uint64_t seed, uint32_t *values, size_t count);

/* Shuffles `count` items (Fisher and Yates), with random numbers from *state. */
void random_shuffle(uint64_t *state, size_t *items, size_t count);
