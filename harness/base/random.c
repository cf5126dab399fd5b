/* SPDX-License-Identifier: MIT
 * SplitMix64: a counter that advances by the fraction of the golden ratio, and a hash of it. Number
 * i of a sequence follows from the seed alone, so a reference can compute it without the others. */
#include "random.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* the golden ratio's fraction */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

enum { FLOAT_EXPONENT_MASK = 0x7f800000, FLOAT_EXPONENT_OF_1 = 0x3f800000 };

void random_fill_floats(uint64_t seed, uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] =
            ((uint32_t)(random_next(&seed) >> 32) & ~FLOAT_EXPONENT_MASK) | FLOAT_EXPONENT_OF_1;
}

void random_shuffle(uint64_t *state, size_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t k = random_next(state) % i;
        const size_t item = items[i - 1];

        items[i - 1] = items[k];
        items[k] = item;
    }
}
