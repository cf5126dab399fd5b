/* SPDX-License-Identifier: MIT
 * A kernel that walks through a constant table of its module on one SM, until it is told to stop.
 * Each source that includes this is a module with its own 64 KB; RIVAL names its kernel. */
#pragma once

#include "measure.cuh"

enum { WALK_BYTES = 61440, WALK_LINE_BYTES = 64, SPREAD_NS = 60000 };

/* Where a walk runs: blocks are many more than SMs, and the first on a wanted SM takes it. */
struct walk_args {
    const uint8_t *wanted; /* of each SM: 1, if a block there walks */
    uint32_t *taken; /* of each SM: 0 before the launch */
    uint32_t zero;
};

/* Whether this block walks. The others stay for a while, so that every SM gets a block. */
__device__ inline bool walks(const walk_args &args)
{
    const uint64_t start = now_ns();

    if (args.wanted[sm_id()] && atomicExch(&args.taken[sm_id()], 1) == 0)
        return true;
    while (now_ns() - start < SPREAD_NS)
        ;
    return false;
}

/* A word of each line, one after the other; a table of zeros. */
template <class TABLE> __device__ uint32_t walk_through(const TABLE &table, uint32_t entry)
{
#pragma unroll 8
    for (uint32_t byte = 0; byte < WALK_BYTES; byte += WALK_LINE_BYTES)
        entry = *(const uint32_t *)((const char *)table + byte + entry);
    return entry;
}

/* Tells by running[SM] that it walks, and does until *stop, or for two seconds. Both are the host's
 * memory. */
#define RIVAL_KERNEL(name)                                           \
    __constant__ uint32_t name##_table[WALK_BYTES / 4];              \
    __global__ void name(walk_args args, volatile uint32_t *running, \
                         const volatile uint32_t *stop)              \
    {                                                                \
        const uint64_t start = now_ns();                             \
        uint32_t entry = args.zero;                                  \
                                                                     \
        if (!walks(args))                                            \
            return;                                                  \
        entry = walk_through(name##_table, entry);                   \
        running[sm_id()] = 1;                                        \
        while (!*stop && now_ns() - start < 2000000000)              \
            entry = walk_through(name##_table, entry);               \
        if (entry)                                                   \
            running[sm_id()] = 0;                                    \
    }
