/* SPDX-License-Identifier: MIT
 * What the corpus and random programs take of cooperative groups, for blocks of one dimension, of
 * whole warps, on the host. */
#pragma once

namespace cooperative_groups
{
struct thread_block {
    unsigned thread_rank() const
    {
        return threadIdx.x;
    }
};
template <unsigned size> struct thread_block_tile {
    /* The lane in which the tile begins, and all of its lanes. */
    static unsigned start()
    {
        return simulated_lane() / size * size;
    }
    static unsigned mask()
    {
        return ~0u >> (32 - size) << start();
    }
    unsigned meta_group_rank() const
    {
        return threadIdx.x / size;
    }
    template <class T> T shfl(T value, unsigned lane) const
    {
        return __shfl_sync(mask(), value, (int)lane, size);
    }
    template <class T> T shfl_xor(T value, unsigned with) const
    {
        return __shfl_xor_sync(mask(), value, (int)with, size);
    }
    bool any(int condition) const
    {
        return __any_sync(mask(), condition);
    }
    bool all(int condition) const
    {
        return __all_sync(mask(), condition);
    }
    unsigned ballot(int condition) const
    {
        return __ballot_sync(mask(), condition) >> start();
    }
};
inline thread_block this_thread_block()
{
    return {};
}
template <unsigned size> thread_block_tile<size> tiled_partition(thread_block)
{
    return {};
}

template <class T> struct plus {
    T operator()(T a, T b) const
    {
        return a + b;
    }
};
template <class T> struct greater {
    T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};
template <unsigned size, class T, class F> T reduce(thread_block_tile<size> tile, T value, F with)
{
    T sum = tile.shfl(value, 0);

    for (unsigned lane = 1; lane < size; lane++)
        sum = with(sum, tile.shfl(value, lane));
    return sum;
}
} // namespace cooperative_groups
