/* SPDX-License-Identifier: MIT
 *
 * The probe of SMs that share a constant cache. Every run makes it, so it is a small module of its
 * own: a driver that compiles it needs little time.
 *
 *   probe_sharing   the SMs, one after the other, load data from the constant bank that one of them
 *                   loaded before
 */
#include <stdint.h>

#include "device.cuh"
#include "probe_args.h"
#include "probe_device.cuh"
#include "workload.h"

__constant__ uint32_t sharing_bank[CBANK_TABLE_LENGTH];

/* One thread of each block. A block whose turn does not come in time leaves no reading: not all
 * blocks run at the same time. The bank holds zeros, which the compiler does not know. */
extern "C" __global__ void probe_sharing(const CBANK_PARAMETER probe_sharing_args args)
{
    __shared__ volatile uint32_t arrived;
    const uint32_t turn = (blockIdx.x + gridDim.x - args.first) % gridDim.x;
    uint32_t offset = threadIdx.x & args.zero;

    for (uint32_t spins = 0; *(volatile uint32_t *)args.turn != turn; spins++)
        if (spins == PROBE_SHARING_SPINS)
            return;
    if (turn == 0) {
#pragma unroll 1
        for (uint32_t i = 0; i < args.bytes; i += args.step)
            offset = word_at(sharing_bank, i + (offset & args.zero));
        offset += (args.bytes - 1) / args.step * args.step;
    } else {
        offset += (turn - 1) * args.grain;
    }
    arrived = offset;

    const uint32_t begin = clock_cycles();

    offset = word_at(sharing_bank, offset);
    arrived = offset;

    const uint32_t end = clock_cycles();

    args.readings[blockIdx.x] = {begin, end, sm_id(), 1};
    __threadfence();
    *(volatile uint32_t *)args.turn = turn + 1;
}
