/* SPDX-License-Identifier: MIT */
#include "random.h"

#include "parallel.h"

/* The state grows by the golden ratio's fraction. The n-th number of a sequence depends only on seed + n * step, so
 * parts of it can be made independently. */
static const uint64_t step = 0x9e3779b97f4a7c15u;

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += step;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

enum { FLOAT_EXPONENT_MASK = 0x7f800000, FLOAT_EXPONENT_OF_1 = 0x3f800000 };

struct filling {
    uint64_t seed;
    uint32_t *values;
};

static void fill_range(void *context, uint64_t first, uint64_t count)
{
    const struct filling *filling = context;
    uint64_t state = filling->seed + first * step;

    for (uint64_t i = first; i < first + count; i++)
        filling->values[i] = ((uint32_t)(random_next(&state) >> 32) & ~FLOAT_EXPONENT_MASK) | FLOAT_EXPONENT_OF_1;
}

void random_fill_floats(uint64_t seed, uint32_t *values, size_t count)
{
    struct filling filling = {seed, values};

    parallel_ranges(count, 1 << 16, fill_range, &filling);
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
