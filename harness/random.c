/* SPDX-License-Identifier: MIT */
#include "random.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void random_fill(uint64_t seed, uint32_t *values, size_t count)
{
    uint64_t state = seed;

    for (size_t i = 0; i < count; i++)
        values[i] = (uint32_t)(random_next(&state) >> 32);
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
