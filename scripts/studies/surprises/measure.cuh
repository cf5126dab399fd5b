/* SPDX-License-Identifier: MIT
 * What the questions share: clocks, and what a question prints: {"key": its name, "samples":
 * [numbers]}. */
#pragma once

#include "gpu.cuh"

#include <string>

enum { SAMPLES = 25 };

/* clock() has 64 bits, and what was kept of it 32. */
__device__ inline uint32_t cycles_since(uint32_t start)
{
    return (uint32_t)clock() - start;
}

/* Of the GPU. */
inline int sms()
{
    static int count;

    if (!count)
        MUST(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

__device__ inline uint64_t now_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ inline uint32_t sm_id()
{
    uint32_t sm;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Sets value to the word at an address, and start and end to clocks before the load and behind it.
 * The load stays between them, and what comes behind waits for it: the word is 0, which the
 * compiler does not know. */
#define TIMED_LOAD(load, address_kind, address, value, start, end)     \
    asm volatile("mov.u32 %0, %%clock;\n\t" load " %1, [%3];\n\t"      \
                 "{.reg .pred p; setp.ne.u32 p, %1, 0; @p trap; }\n\t" \
                 "mov.u32 %2, %%clock;"                                \
                 : "=&r"(start), "=&r"(value), "=&r"(end)              \
                 : address_kind(address)                               \
                 : "memory")

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
