/* SPDX-License-Identifier: MIT
 * What the threads of a warp tell each other. */
#include "corpus.h"

__constant__ float coefficients[64];

KERNEL from_lane_zero(float *out, const int *__restrict__ index)
{
    const int k = __shfl_sync(ALL_LANES, index[THREAD], 0);

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}
KERNEL from_lane_of_argument(float *out, const int *__restrict__ index, int n)
{
    const int k = __shfl_sync(ALL_LANES, index[THREAD], n);

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL from_each_lane_in_turn(float *out, const int *__restrict__ index)
{
    const int mine = index[THREAD];
    float sum = 0;

    ROLLED
    for (int lane = 0; lane < 32; lane++) {
        const int k = __shfl_sync(ALL_LANES, mine, lane);

        sum = sum * 0.5f + coefficients[k]; // load: coefficients warp depth 1
    }
    out[THREAD] = sum;
}

KERNEL from_lane_zero_of_eight(float *out, const int *__restrict__ index)
{
    const int k = __shfl_sync(ALL_LANES, index[THREAD], 0, 8);

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}
KERNEL from_neighbour(float *out, const int *__restrict__ index)
{
    const int k = __shfl_xor_sync(ALL_LANES, index[THREAD], 1);

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}
KERNEL from_lane_of_data(float *out, const int *__restrict__ index)
{
    const int k = __shfl_sync(ALL_LANES, index[THREAD], index[THREAD + 7]);

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}
KERNEL uniform_through_shuffle(float *out, int n)
{
    const int k = __shfl_down_sync(ALL_LANES, n, 3);

    out[THREAD] = coefficients[k]; // load: coefficients grid/warp/thread depth 0
}
KERNEL thread_of_neighbour(float *out, int n)
{
    const int k = __shfl_xor_sync(ALL_LANES, threadIdx.x >> (n & 3), 4) & 63;

    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL by_vote(float *out, const int *__restrict__ index)
{
    const unsigned k = __popc(__ballot_sync(ALL_LANES, index[THREAD] > 15));

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL by_any(float *out, const int *__restrict__ index, int n)
{
    const int k = __any_sync(ALL_LANES, index[THREAD] == 9) ? n : 4;

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

/* Each half of a warp votes for itself. */
KERNEL by_any_of_half(float *out, const int *__restrict__ index, int n)
{
    const unsigned half = threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu;
    const int k = __any_sync(half, index[THREAD] == 9) ? n : 4;

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL first_of_vote(float *out, const int *__restrict__ index)
{
    unsigned left = __ballot_sync(ALL_LANES, index[THREAD] > 15);
    float sum = 0;

    ROLLED
    while (left) {
        const int k = __ffs(left) - 1;

        sum = sum * 0.5f + coefficients[k]; // load: coefficients warp depth 1
        left &= left - 1;
    }
    out[THREAD] = sum;
}

KERNEL rank_in_vote(float *out, const int *__restrict__ index)
{
    const unsigned ballot = __ballot_sync(ALL_LANES, index[THREAD] > 15);
    const int k = __popc(ballot & ((1u << (threadIdx.x & 31)) - 1));

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL sum_of_lanes(float *out, const int *__restrict__ index)
{
    int sum = index[THREAD];

    IN_FULL
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, by);
    const int k = __shfl_sync(ALL_LANES, sum, 0) & 63;

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL queue_of_warp(float *out, int *next)
{
    int k = 0;

    if ((threadIdx.x & 31) == 0)
        k = atomicAdd(next, 1) & 63;
    k = __shfl_sync(ALL_LANES, k, 0);
    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL queue_of_thread(float *out, int *next)
{
    out[THREAD] =
        coefficients[(int)(atomicAdd(next, 1) & 63)]; // load: coefficients data/unknown depth 0
}

KERNEL queue_of_block(float *out, int *next)
{
    __shared__ int taken;

    if (threadIdx.x == 0)
        taken = atomicAdd(next, 1) & 63;
    __syncthreads();
    const int k = taken; // load: taken constant/block depth 0

    out[THREAD] = coefficients[k]; // load: coefficients block depth 0
}

KERNEL counted_by_barrier(float *out, const int *__restrict__ index)
{
    const int k = __syncthreads_count(index[THREAD] > 15) & 63;

    out[THREAD] = coefficients[k]; // load: coefficients block depth 0
}

/* Each lane adds what it has and what another has: the same sum in all. */
#define BUTTERFLY(value, first, combined)                                    \
    IN_FULL                                                                  \
    for (int by = first; by > 0; by /= 2) {                                  \
        const int own = value, theirs = __shfl_xor_sync(ALL_LANES, own, by); \
                                                                             \
        value = combined;                                                    \
    }

KERNEL sum_by_butterfly(float *out, const int *__restrict__ index)
{
    int k = index[THREAD];

    BUTTERFLY(k, 16, own + theirs);
    out[THREAD] = coefficients[k & 63]; // load: coefficients warp depth 0
}

KERNEL largest_by_butterfly(float *out, const int *__restrict__ index)
{
    int k = index[THREAD];

    BUTTERFLY(k, 16, max(own, theirs));
    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL bits_by_butterfly(float *out, const int *__restrict__ index, int n)
{
    int k = index[THREAD] << 1;

    BUTTERFLY(k, 16, own ^ theirs);
    out[THREAD] = coefficients[(k + n) & 63]; // load: coefficients warp depth 0
}

KERNEL sum_of_halves(float *out, const int *__restrict__ index)
{
    int k = index[THREAD];

    BUTTERFLY(k, 8, own + theirs);
    out[THREAD] = coefficients[k & 63]; // load: coefficients data/unknown depth 0
}

KERNEL differences_by_butterfly(float *out, const int *__restrict__ index)
{
    int k = index[THREAD];

    BUTTERFLY(k, 16, own - theirs);
    out[THREAD] = coefficients[k & 63]; // load: coefficients data/unknown depth 0
}

KERNEL sum_with_lanes(float *out, const int *__restrict__ index)
{
    int k = index[THREAD];

    BUTTERFLY(k, 16, own + theirs + (int)(threadIdx.x & 31));
    out[THREAD] = coefficients[k & 63]; // load: coefficients data/unknown depth 0
}
