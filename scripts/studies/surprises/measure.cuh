/* SPDX-License-Identifier: MIT
 * What the questions share: a table of zeros, so that the next index is an entry and an offset, and
 * what a question prints: {"key": its name, "samples": [numbers]}. */
#pragma once

#include "gpu.cuh"

#include <string>

enum { SAMPLES = 25, TABLE_BYTES = 49152 };

/* Zeros. The compiler does not know that. */
__constant__ uint32_t constant_table[TABLE_BYTES / 4];

/* The entry of that byte. */
__device__ inline uint32_t constant_entry(uint32_t byte)
{
    return *(const uint32_t *)((const char *)constant_table + byte);
}

/* clock() has 64 bits, and what was kept of it 32. */
__device__ inline uint32_t cycles_since(uint32_t start)
{
    return (uint32_t)clock() - start;
}

/* The questions that the command line names; all, if it names none. */
struct questions {
    const std::vector<std::string> named;

    questions(int argc, char **argv) : named(argv + 1, argv + argc)
    {
    }

    /* Prints what a question measured: one sample a call, behind one that warms up. */
    template <class F> void answer(const char *key, F sample) const
    {
        if (!named.empty() && std::find(named.begin(), named.end(), key) == named.end())
            return;
        sample();
        printf("{\"key\": \"%s\", \"samples\": [", key);
        for (int i = 0; i < SAMPLES; i++)
            printf("%s%.6g", i ? ", " : "", (double)sample());
        printf("]}\n");
        fflush(stdout);
    }
};
