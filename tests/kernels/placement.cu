// SPDX-License-Identifier: MIT
// Lookups alone, at indices that the code gives: ENTRY, ENTRIES and INDEX (of `lane`, `thread`,
// `block`, `given`) are macros of the compiler's command line: see
// scripts/studies/placement_trial.py.
#include <stdint.h>

#include <cbank.cuh>

enum { ROUNDS = 4096 }; // so that a launch and the copy into shared memory count for nothing

CBANK_TABLE(entries_read, ENTRY, ENTRIES, constant);

__host__ __device__ inline unsigned word_of(uint8_t entry)
{
    return entry;
}
__host__ __device__ inline unsigned word_of(unsigned entry)
{
    return entry;
}
__host__ __device__ inline unsigned word_of(uint2 entry)
{
    return entry.x ^ entry.y;
}
__host__ __device__ inline unsigned word_of(uint4 entry)
{
    return entry.x ^ entry.y ^ entry.z ^ entry.w;
}

__host__ __device__ inline unsigned index_of(unsigned thread, unsigned block, unsigned given)
{
    const unsigned lane = thread & 31;

    (void)lane, (void)thread, (void)block, (void)given;
    return INDEX;
}

template <class Table> __global__ void lookups(Table table, unsigned given, unsigned *out)
{
    const unsigned index = index_of(threadIdx.x, blockIdx.x, given);
    unsigned sum = 0;

    table.stage();
#pragma unroll 8
    for (unsigned k = 0; k < ROUNDS; k++)
        sum += word_of(table[index + (k & 63)]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

CBANK_CASE(lookups, 1 << 18)
{
    const auto table = entries<entries_read>([](unsigned i) {
        ENTRY entry = {};
        *(uint8_t *)&entry = (uint8_t)(i * 2654435761u >> 24);
        return entry;
    });
    const auto out = output<unsigned>(size);

    launch(lookups<entries_read>, size / 256, 256)(table, 3u, out);
    check(out, [=](cbank_u64 i) {
        unsigned sum = 0;
        for (unsigned k = 0; k < 64; k++)
            sum += ROUNDS / 64 * word_of(table[index_of(i % 256, i / 256, 3) + k]);
        return sum;
    });
}
