/* SPDX-License-Identifier: MIT
 * Indices that are functions of the thread. */
#include "corpus.h"

__constant__ float coefficients[2048];
__constant__ double wide[1024];
__constant__ unsigned char bytes[2048];
__constant__ float4 quads[512];

struct pair {
    float weight, bias, rest;
};

__constant__ struct pair pairs[512];

KERNEL per_thread(float *out)
{
    out[THREAD] = coefficients[threadIdx.x]; // load: table=coefficients variation=affine stride=4 depth=0
}

KERNEL per_thread_of_grid(float *out, const float *__restrict__ given)
{
    out[THREAD] = given[THREAD]; // load: table=given variation=affine stride=4 depth=0
}

KERNEL per_thread_strided(float *out)
{
    out[THREAD] = coefficients[threadIdx.x * 3 + 1]; // load: table=coefficients variation=affine stride=12 depth=0
}

KERNEL per_thread_strided_far(float *out)
{
    out[THREAD] = coefficients[threadIdx.x * 17]; // load: table=coefficients variation=affine stride=68 depth=0
}

KERNEL per_thread_backward(float *out)
{
    out[THREAD] = coefficients[128 - threadIdx.x]; // load: table=coefficients variation=affine stride=-4 depth=0
}

KERNEL per_thread_wide(double *out)
{
    out[THREAD] = wide[threadIdx.x]; // load: table=wide variation=affine stride=8 depth=0
}

KERNEL per_thread_byte(float *out)
{
    out[THREAD] = bytes[threadIdx.x]; // load: table=bytes variation=affine stride=1 depth=0
}

KERNEL per_thread_quad(float *out, const float4 *__restrict__ given)
{
    const float4 four = given[threadIdx.x]; // load: table=given variation=affine stride=16 depth=0

    out[THREAD] = four.x + four.y * four.z - four.w;
}

KERNEL per_thread_struct(float *out)
{
    out[THREAD] = pairs[threadIdx.x].bias; // load: table=pairs variation=affine stride=12 depth=0
}

KERNEL per_thread_64_bits(float *out, const float *given, long long n)
{
    const long long i = (long long)THREAD + n;

    out[THREAD] = given[i]; // load: table=given variation=affine stride=4 depth=0
}

KERNEL per_thread_by_argument(float *out, int n)
{
    out[THREAD] = coefficients[threadIdx.x * n]; // load: table=coefficients variation=affine/unknown stride=56 depth=0
}

KERNEL per_lane(float *out)
{
    const int lane = threadIdx.x & 31;

    out[THREAD] = coefficients[lane]; // load: table=coefficients variation=affine stride=4 depth=0
}

KERNEL per_lane_of_half(float *out)
{
    out[THREAD] = coefficients[threadIdx.x & 15]; // load: table=coefficients variation=uneven stride=- addresses=16 depth=0
}

KERNEL per_group_of_four(float *out)
{
    out[THREAD] = coefficients[threadIdx.x / 4]; // load: table=coefficients variation=uneven stride=- addresses=8 depth=0
}

KERNEL permuted(float *out)
{
    out[THREAD] = coefficients[threadIdx.x ^ 5]; // load: table=coefficients variation=uneven stride=- addresses=32 depth=0
}

KERNEL squared(float *out)
{
    const int lane = threadIdx.x & 31;

    out[THREAD] = coefficients[lane * lane]; // load: table=coefficients variation=uneven stride=- addresses=32 depth=0
}

KERNEL per_warp(float *out)
{
    out[THREAD] = coefficients[threadIdx.x / 32]; // load: table=coefficients variation=warp stride=- depth=0
}

KERNEL per_warp_masked(float *out)
{
    out[THREAD] = coefficients[threadIdx.x & ~31u]; // load: table=coefficients variation=warp stride=- depth=0
}

KERNEL per_warp_of_grid(float *out, int n)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

    out[THREAD] = coefficients[(warp * 5 + n) & 63]; // load: table=coefficients variation=warp/unknown stride=- depth=0
}

KERNEL per_pair_of_warps(float *out)
{
    out[THREAD] = quads[threadIdx.x >> 6].y; // load: table=quads variation=warp stride=- depth=0
}

KERNEL per_row_2d(float *out)
{
    out[THREAD] = coefficients[threadIdx.y]; // load: table=coefficients variation=unknown stride=- depth=0
}

KERNEL per_column_2d(float *out)
{
    out[THREAD] = coefficients[threadIdx.x]; // load: table=coefficients variation=affine/unknown stride=4 depth=0
}

KERNEL per_thread_2d(float *out)
{
    const int k = threadIdx.y * blockDim.x + threadIdx.x;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=affine stride=4 depth=0
}

KERNEL transposed_2d(float *out)
{
    const int k = threadIdx.x * 8 + threadIdx.y;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=unknown stride=- depth=0
}

KERNEL branched_2d(float *out, int n)
{
    int k = 0;

    if (threadIdx.y > 2)
        k = n;
    out[THREAD] = coefficients[k + 1]; // load: table=coefficients variation=unknown stride=- depth=0
}

KERNEL left_2d(float *out, int n)
{
    float sum = 0;

    ROLLED for (int k = n; k < 32; k += 1 + threadIdx.y)
        sum = sum * 0.5f + coefficients[k]; // load: table=coefficients variation=unknown stride=- depth=1
    out[THREAD] = sum;
}

KERNEL both_ways(float *out, int n)
{
    const int k = threadIdx.x + n;

    const float mine = coefficients[k]; // load: table=coefficients variation=affine stride=4 depth=0
    const float all = coefficients[n]; // load: table=coefficients variation=grid stride=- depth=0

    out[THREAD] = mine + all;
}

KERNEL clamped(float *out, int n)
{
    const int k = min((int)threadIdx.x, n);

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=unknown stride=- depth=0
}

KERNEL modulo(float *out)
{
    out[THREAD] = coefficients[threadIdx.x % 7]; // load: table=coefficients variation=uneven stride=- addresses=7 depth=0
}

KERNEL narrowed(float *out)
{
    const unsigned char k = threadIdx.x * 16;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=uneven stride=- addresses=16 depth=0
}

KERNEL as_float(float *out)
{
    const int k = (int)((float)threadIdx.x * 0.5f);

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=unknown stride=- depth=0
}

KERNEL packed(float *out, unsigned n)
{
    const unsigned both = threadIdx.x << 16 | (n & 0xffff), k = both & 63;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL packed_thread(float *out, unsigned n)
{
    const unsigned both = n << 16 | threadIdx.x, k = both & 0xffff;

    out[THREAD] = coefficients[k & 2047]; // load: table=coefficients variation=affine/unknown stride=4 depth=0
}
