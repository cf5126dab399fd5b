/* SPDX-License-Identifier: MIT
 * Random lookups in a table of 100 KB; with -DENTRIES=65536, of 256 KB. */
#include <cbank.cuh>

#include "lookups.h"

#ifndef ENTRIES
#define ENTRIES SMALL_ENTRIES
#endif

CBANK_TABLE(numbers, unsigned, ENTRIES, global);

template <class Table>
__global__ void __launch_bounds__(LOOKUP_BLOCK) look_up(Table table, unsigned *sums)
{
    const unsigned thread = blockIdx.x * LOOKUP_BLOCK + threadIdx.x;
    unsigned state = number_at(thread), sum = 0;

    table.stage();
#pragma unroll 4
    for (unsigned i = 0; i < LOOKUPS; i++) {
        sum += table[entry_at(state, ENTRIES)];
        state = next_of(state);
    }
    sums[thread] = sum;
}

CBANK_CASE(look_up, 1 << 19, 1 << 21)
{
    const auto table = entries<numbers>([](unsigned i) { return number_at(i); });
    const auto sums = output<unsigned>(size);

    launch(look_up<numbers>, size / LOOKUP_BLOCK, LOOKUP_BLOCK)(table, sums);
    check(sums, [=](cbank_u64 thread) {
        unsigned state = number_at((unsigned)thread), sum = 0;

        for (unsigned i = 0; i < LOOKUPS; i++) {
            sum += table[entry_at(state, ENTRIES)];
            state = next_of(state);
        }
        return sum;
    });
}
