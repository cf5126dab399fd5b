/* SPDX-License-Identifier: MIT
 * Indices that are the same for many threads. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ double wide[32];
__constant__ int offsets[64];

struct settings {
    int first, unused[3], last;
};

KERNEL known(float *out)
{
    out[THREAD] = coefficients[5]; // load: coefficients constant depth 0
}
KERNEL argument(float *out, int n)
{
    out[THREAD] = coefficients[n]; // load: coefficients grid depth 0
}
KERNEL argument_computed(float *out, int n, int m)
{
    out[THREAD] = coefficients[(int)((n * 3 + (m >> 1)) & 31)]; // load: coefficients grid depth 0
}
KERNEL argument_divided(float *out, int n, int m)
{
    out[THREAD] = coefficients[(int)((n * 7) / (m + 1) % 32)]; // load: coefficients grid depth 0
}

KERNEL argument_struct(float *out, const struct settings settings)
{
    out[THREAD] = coefficients[settings.first] - // load: coefficients grid depth 0
                  wide[settings.last]; // load: wide grid depth 0
}

KERNEL argument_64_bits(float *out, long long n)
{
    out[THREAD] = coefficients[n & 31]; // load: coefficients grid depth 0
}
KERNEL argument_of_float(float *out, float x)
{
    out[THREAD] = coefficients[(int)((int)(x * 8.0f) & 31)]; // load: coefficients grid depth 0
}
KERNEL grid_size(float *out)
{
    out[THREAD] = coefficients[gridDim.x]; // load: coefficients grid depth 0
}
KERNEL block_size(float *out)
{
    out[THREAD] = coefficients[blockDim.x / 8]; // load: coefficients grid depth 0
}
KERNEL block_index(float *out)
{
    out[THREAD] = coefficients[blockIdx.x]; // load: coefficients block depth 0
}

KERNEL block_index_scaled(float *out, int n)
{
    const unsigned k = (blockIdx.x * 3 + n) % 32;

    out[THREAD] = coefficients[k]; // load: coefficients block depth 0
}

KERNEL block_indices_2d(float *out)
{
    const unsigned k = blockIdx.y * gridDim.x + blockIdx.x;

    out[THREAD] = coefficients[k & 63]; // load: coefficients block depth 0
}

KERNEL from_constant_memory(float *out)
{
    const int k = offsets[3]; // load: offsets constant depth 0

    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL chain_of_tables(float *out, int n)
{
    const int k = offsets[n]; // load: offsets grid depth 0
    const int m = offsets[k]; // load: offsets grid depth 0

    out[THREAD] = coefficients[m]; // load: coefficients grid depth 0
}

KERNEL from_memory_uniform(float *out, const int *__restrict__ index, int n)
{
    const int k = index[n]; // load: index grid depth 0

    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL from_memory_by_block(float *out, const int *__restrict__ index)
{
    const int k = index[blockIdx.x]; // load: index block depth 0

    out[THREAD] = coefficients[k]; // load: coefficients block depth 0
}

KERNEL minimum_of_arguments(float *out, int n, int m)
{
    const int k = n < m ? n : m - 1;

    out[THREAD] = coefficients[k & 31]; // load: coefficients grid depth 0
}

KERNEL cancelled(float *out, int n)
{
    const int i = threadIdx.x * 4, k = (i + n) - i;

    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL times_zero(float *out, int n)
{
    out[THREAD] =
        coefficients[(int)((threadIdx.x & 31) / 32 + n)]; // load: coefficients grid/warp depth 0
}

KERNEL known_by_launch_bounds(float *out, int n)
{
    __builtin_assume(n == 7);
    out[THREAD] = coefficients[n]; // load: coefficients constant/grid depth 0
}
