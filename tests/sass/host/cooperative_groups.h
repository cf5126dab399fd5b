/* SPDX-License-Identifier: MIT
 * What the corpus takes of cooperative groups, for blocks of one dimension on the host. */
namespace cooperative_groups
{
struct thread_block {
    unsigned thread_rank() const
    {
        return threadIdx.x;
    }
};
template <unsigned size> struct thread_block_tile {
    unsigned meta_group_rank() const
    {
        return threadIdx.x / size;
    }
    int shfl(int value, unsigned lane) const
    {
        return __shfl_sync(~0u, value, lane, size);
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
} // namespace cooperative_groups
