/* SPDX-License-Identifier: MIT
 * Random numbers of what tests simulate. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "random.h"

/* From 0 to below 1. */
static inline double uniform(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* The sum of twelve is nearly normal. */
static inline double nearly_normal(uint64_t *random)
{
    double sum = -6;

    for (size_t i = 0; i < 12; i++)
        sum += uniform(random);
    return sum;
}
