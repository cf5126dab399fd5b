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
    out[THREAD] = coefficients[threadIdx.x]; // load: coefficients affine:4 depth 0
}
KERNEL per_thread_of_grid(float *out, const float *__restrict__ given)
{
    out[THREAD] = given[THREAD]; // load: given affine:4 depth 0
}
KERNEL per_thread_strided(float *out)
{
    out[THREAD] = coefficients[threadIdx.x * 3 + 1]; // load: coefficients affine:12 depth 0
}
KERNEL per_thread_strided_far(float *out)
{
    out[THREAD] = coefficients[threadIdx.x * 17]; // load: coefficients affine:68 depth 0
}
KERNEL per_thread_backward(float *out)
{
    out[THREAD] = coefficients[128 - threadIdx.x]; // load: coefficients affine:-4 depth 0
}
KERNEL per_thread_wide(double *out)
{
    out[THREAD] = wide[threadIdx.x]; // load: wide affine:8 depth 0
}
KERNEL per_thread_byte(float *out)
{
    out[THREAD] = bytes[threadIdx.x]; // load: bytes affine:1 depth 0
}

KERNEL per_thread_quad(float *out, const float4 *__restrict__ given)
{
    const float4 four = given[threadIdx.x]; // load: given affine:16 depth 0

    out[THREAD] = four.x + four.y * four.z - four.w;
}

KERNEL per_thread_struct(float *out)
{
    out[THREAD] = pairs[threadIdx.x].bias; // load: pairs affine:12 depth 0
}

KERNEL per_thread_64_bits(float *out, const float *given, long long n)
{
    const long long i = (long long)THREAD + n;

    out[THREAD] = given[i]; // load: given affine:4 depth 0
}

KERNEL per_thread_by_argument(float *out, int n)
{
    out[THREAD] = coefficients[threadIdx.x * n]; // load: coefficients affine:56/thread depth 0
}

KERNEL per_lane(float *out)
{
    const int lane = threadIdx.x & 31;

    out[THREAD] = coefficients[lane]; // load: coefficients affine:4 depth 0
}

KERNEL per_lane_of_half(float *out)
{
    out[THREAD] = coefficients[threadIdx.x & 15]; // load: coefficients uneven:16 depth 0
}
KERNEL per_group_of_four(float *out)
{
    out[THREAD] = coefficients[threadIdx.x / 4]; // load: coefficients uneven:8 depth 0
}
KERNEL per_lane_signed(float *out)
{
    out[THREAD] = coefficients[(int)THREAD % 16]; // load: coefficients uneven:16 depth 0
}
KERNEL below_zero(float *out)
{
    out[THREAD] = coefficients[((int)THREAD - 8) / 16 + 1]; // load: coefficients thread depth 0
}
KERNEL permuted(float *out)
{
    out[THREAD] = coefficients[threadIdx.x ^ 5]; // load: coefficients uneven:32 depth 0
}

KERNEL squared(float *out)
{
    const int lane = threadIdx.x & 31;

    out[THREAD] = coefficients[lane * lane]; // load: coefficients uneven:32 depth 0
}

KERNEL per_warp(float *out)
{
    out[THREAD] = coefficients[threadIdx.x / 32]; // load: coefficients warp depth 0
}
KERNEL per_warp_signed(float *out)
{
    out[THREAD] = coefficients[(int)THREAD / 32 & 63]; // load: coefficients warp depth 0
}
KERNEL per_warp_masked(float *out)
{
    out[THREAD] = coefficients[threadIdx.x & ~31u]; // load: coefficients warp depth 0
}

KERNEL per_warp_of_grid(float *out, int n)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

    out[THREAD] = coefficients[(warp * 5 + n) & 63]; // load: coefficients warp/thread depth 0
}

KERNEL per_pair_of_warps(float *out)
{
    out[THREAD] = quads[threadIdx.x >> 6].y; // load: quads warp depth 0
}
KERNEL per_row_2d(float *out)
{
    out[THREAD] = coefficients[threadIdx.y]; // load: coefficients thread depth 0
}
KERNEL per_column_2d(float *out)
{
    out[THREAD] = coefficients[threadIdx.x]; // load: coefficients affine:4/thread depth 0
}
KERNEL per_thread_2d(float *out)
{
    const int k = threadIdx.y * blockDim.x + threadIdx.x;

    out[THREAD] = coefficients[k]; // load: coefficients affine:4 depth 0
}
KERNEL transposed_2d(float *out)
{
    out[THREAD] =
        coefficients[(int)(threadIdx.x * 8 + threadIdx.y)]; // load: coefficients thread depth 0
}

KERNEL branched_2d(float *out, int n)
{
    int k = 0;

    if (threadIdx.y > 2)
        k = n;
    out[THREAD] = coefficients[k + 1]; // load: coefficients thread depth 0
}

KERNEL left_2d(float *out, int n)
{
    float sum = 0;

    ROLLED for (int k = n; k < 32; k += 1 + threadIdx.y) sum =
        sum * 0.5f + coefficients[k]; // load: coefficients thread depth 1
    out[THREAD] = sum;
}

KERNEL both_ways(float *out, int n)
{
    const int k = threadIdx.x + n;

    const float mine = coefficients[k]; // load: coefficients affine:4 depth 0
    const float all = coefficients[n]; // load: coefficients grid depth 0

    out[THREAD] = mine + all;
}

KERNEL clamped(float *out, int n)
{
    out[THREAD] =
        coefficients[(int)(min((int)threadIdx.x, n))]; // load: coefficients thread depth 0
}
KERNEL rows_of_eight(float *out, unsigned n)
{
    const unsigned row = (threadIdx.x % 32 / 8 + n) * 8;

    out[THREAD] = coefficients[row | (threadIdx.x & 7)]; // load: coefficients affine:4 depth 0
}
KERNEL swizzled(float *out, unsigned n)
{
    const unsigned row = (threadIdx.x % 32 + n) * 8;

    out[THREAD] = coefficients[row ^ (threadIdx.x & 7)]; // load: coefficients uneven:32 depth 0
}

KERNEL modulo(float *out)
{
    out[THREAD] = coefficients[threadIdx.x % 7]; // load: coefficients uneven:7 depth 0
}

KERNEL narrowed(float *out)
{
    const unsigned char k = threadIdx.x * 16;

    out[THREAD] = coefficients[k]; // load: coefficients uneven:16 depth 0
}

KERNEL as_float(float *out)
{
    out[THREAD] =
        coefficients[(int)((int)((float)threadIdx.x * 0.5f))]; // load: coefficients thread depth 0
}

KERNEL packed(float *out, unsigned n)
{
    const unsigned both = threadIdx.x << 16 | (n & 0xffff), k = both & 63;

    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL packed_thread(float *out, unsigned n)
{
    const unsigned both = n << 16 | threadIdx.x, k = both & 0xffff;

    out[THREAD] = coefficients[k & 2047]; // load: coefficients affine:4/thread depth 0
}

/* The distances are known at run time alone, and no data decides them. */
__constant__ unsigned bits = 2;

KERNEL shifted(float *out, int n)
{
    out[THREAD] = coefficients[threadIdx.x >> (n & 3)]; // load: coefficients thread depth 0
}
KERNEL shifted_by_a_constant(float *out)
{
    out[THREAD] = coefficients[THREAD >> bits]; // load: coefficients thread depth 0
}
KERNEL divided(float *out, int n)
{
    out[THREAD] = coefficients[THREAD / n]; // load: coefficients thread depth 0
}
KERNEL remainder_of_64_bits(float *out, long long n)
{
    out[THREAD] = coefficients[(THREAD + n) % (n + 3)]; // load: coefficients thread depth 0
}
KERNEL masked(float *out, int n)
{
    out[THREAD] = coefficients[threadIdx.x & n]; // load: coefficients thread depth 0
}
KERNEL strided_then_shifted(float *out, int n)
{
    out[THREAD] = coefficients[threadIdx.x * n >> 2 & 1023]; // load: coefficients thread depth 0
}
KERNEL chosen_by_arguments(float *out, int n, int m)
{
    const int k = threadIdx.x < n ? threadIdx.x : threadIdx.x * m & 255;

    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL walked(float *out, int n, int m)
{
    float sum = 0;

    ROLLED for (int k = threadIdx.x >> (m & 3); k < 8 * n; k += m) sum =
        sum * 0.5f + coefficients[k]; // load: coefficients thread depth 1
    out[THREAD] = sum;
}

KERNEL where_a_loop_was_left(float *out, int n, int m)
{
    int k = threadIdx.x;

    ROLLED while (k < 8 * n) k += 3 * k / m + 1;
    out[THREAD] = coefficients[k & 1023]; // load: coefficients thread depth 0
}

KERNEL data_and_clamped(float *out, const float *given, const int *rows, int n)
{
    const int row = rows[blockIdx.x];

    out[THREAD] = given[row + min((int)threadIdx.x, n)]; // load: given thread depth 0
}

KERNEL data_for_all_lanes(float *out, const int *given, int n)
{
    const int k = given[blockIdx.x] + (threadIdx.x >> (n & 3));

    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

/* Data decides them. */
KERNEL shifted_by_data(float *out, const int *given)
{
    out[THREAD] =
        coefficients[threadIdx.x >> (given[blockIdx.x] & 3)]; // load: coefficients data depth 0
}
KERNEL strided_by_data(float *out, const int *given, int n)
{
    const int k = threadIdx.x * given[0] + (threadIdx.x >> (n & 3));

    out[THREAD] = coefficients[k]; // load: coefficients data depth 0
}

KERNEL shifted_by_another_lane(float *out, const int *given)
{
    const int by = __shfl_sync(ALL_LANES, given[THREAD], 3);

    out[THREAD] = coefficients[threadIdx.x >> by]; // load: coefficients data depth 0
}

KERNEL chosen_by_data(float *out, const int *given, int n)
{
    const int k = given[blockIdx.x] > 15 ? threadIdx.x >> (n & 3) : threadIdx.x & n;

    out[THREAD] = coefficients[k]; // load: coefficients data depth 0
}

KERNEL left_by_data(float *out, const int *given, int n)
{
    int k = threadIdx.x;

    ROLLED for (int i = 0; i < given[0]; i++) k = (k + i) / n + threadIdx.x;
    out[THREAD] = coefficients[k]; // load: coefficients data depth 0
}

/* A branch that splits no warp, and one that splits the second. */
KERNEL chosen_above_a_warp(float *out, int n)
{
    const int k = threadIdx.x & 32 ? n + 7 : n;

    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL branched_between_warps(float *out, const int *given, int n)
{
    int k = n;

    if (threadIdx.x < 64) {
        k = given[5]; // load: given constant/grid depth 0
        out[THREAD + 1000] = 1;
        __threadfence();
    }
    out[THREAD] = coefficients[k]; // load: coefficients warp depth 0
}

KERNEL branched_within_a_warp(float *out, const int *given, int n)
{
    int k = n;

    if (threadIdx.x < 48) {
        k = given[5]; // load: given constant/grid depth 0
        out[THREAD + 1000] = 1;
        __threadfence();
    }
    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL per_three_warps(float *out)
{
    out[THREAD] = coefficients[THREAD / 96]; // load: coefficients warp depth 0
}

KERNEL per_warp_and_a_half(float *out)
{
    out[THREAD] = coefficients[THREAD / 48]; // load: coefficients thread depth 0
}

KERNEL per_warp_divided(float *out)
{
    const int warp = THREAD / 32;

    out[THREAD] = coefficients[warp % 5] * // load: coefficients warp depth 0
                  coefficients[warp / 3 % 5]; // load: coefficients warp depth 0
}
