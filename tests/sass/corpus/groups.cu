/* SPDX-License-Identifier: MIT
 * Cooperative groups. */
#include <cooperative_groups.h>
#include "corpus.h"

__constant__ float coefficients[64];

namespace cg = cooperative_groups;

KERNEL of_group(float *out, int n)
{
    const cg::thread_block block = cg::this_thread_block();
    const int k = (block.thread_rank() + n) & 63;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=affine/thread stride=4 depth=0
}

KERNEL of_tile(float *out, const int *__restrict__ index)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const int k = tile.shfl(index[THREAD], 3);

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=warp stride=- depth=0
}

KERNEL number_of_tile(float *out)
{
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);

    out[THREAD] = coefficients[tile.meta_group_rank()]; // load: table=coefficients variation=warp stride=- depth=0
}
