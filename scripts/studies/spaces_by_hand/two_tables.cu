/* SPDX-License-Identifier: MIT
 * Random lookups in a table of 100 KB and in one of 256 KB. */
#include <cbank.cuh>

#include "lookups.h"

CBANK_TABLE(small, unsigned, SMALL_ENTRIES, global);
CBANK_TABLE(large, unsigned, LARGE_ENTRIES, global);

template <class Small, class Large>
__global__ void __launch_bounds__(LOOKUP_BLOCK)
    look_up_both(Small first, Large second, unsigned *sums)
{
    const unsigned thread = blockIdx.x * LOOKUP_BLOCK + threadIdx.x;
    unsigned state = number_at(thread), sum = 0;

    cbank::stage(first, second);
#pragma unroll 4
    for (unsigned i = 0; i < LOOKUPS; i++) {
        sum += first[entry_at(state, SMALL_ENTRIES)] + second[entry_at(state, LARGE_ENTRIES)];
        state = next_of(state);
    }
    sums[thread] = sum;
}

CBANK_CASE(look_up_both, 1 << 19, 1 << 21)
{
    const auto first = entries<small>([](unsigned i) { return number_at(i); });
    const auto second = entries<large>([](unsigned i) { return number_at(i); });
    const auto sums = output<unsigned>(size);

    launch(look_up_both<small, large>, size / LOOKUP_BLOCK, LOOKUP_BLOCK)(first, second, sums);
    check(sums, [=](cbank_u64 thread) {
        unsigned state = number_at((unsigned)thread), sum = 0;

        for (unsigned i = 0; i < LOOKUPS; i++) {
            sum += first[entry_at(state, SMALL_ENTRIES)] + second[entry_at(state, LARGE_ENTRIES)];
            state = next_of(state);
        }
        return sum;
    });
}
