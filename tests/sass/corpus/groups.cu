/* SPDX-License-Identifier: MIT
 * Cooperative groups. */
#include "corpus.h"
#include <cooperative_groups.h>

__constant__ float coefficients[64];

namespace cg = cooperative_groups;

KERNEL of_group(float *out, int n)
{
    const cg::thread_block block = cg::this_thread_block();
    const int k = (block.thread_rank() + n) & 63;

    out[THREAD] = coefficients[k]; // load: coefficients affine:4/thread depth 0
}

KERNEL of_tile(float *out, const int *__restrict__ index)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const int k = tile.shfl(index[THREAD], 3);

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL number_of_tile(float *out)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);

    out[THREAD] = coefficients[tile.meta_group_rank()]; // load: coefficients warp depth 0
}
