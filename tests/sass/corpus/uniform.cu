/* SPDX-License-Identifier: MIT
 * Indices that are the same for many threads. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ double wide[32];
__constant__ int offsets[64];

struct settings {
    int first, unused[3], last;
};

KERNEL known(float *out) STORES(coefficients[5]) // load: table=coefficients variation=constant stride=- depth=0
KERNEL argument(float *out, int n) STORES(coefficients[n]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL argument_computed(float *out, int n, int m) STORES(coefficients[(int)((n * 3 + (m >> 1)) & 31)]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL argument_divided(float *out, int n, int m) STORES(coefficients[(int)((n * 7) / (m + 1) % 32)]) // load: table=coefficients variation=grid stride=- depth=0

KERNEL argument_struct(float *out, const struct settings settings)
{
    out[THREAD] = coefficients[settings.first] - // load: table=coefficients variation=grid stride=- depth=0
                  wide[settings.last]; // load: table=wide variation=grid stride=- depth=0
}

KERNEL argument_64_bits(float *out, long long n) STORES(coefficients[n & 31]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL argument_of_float(float *out, float x) STORES(coefficients[(int)((int)(x * 8.0f) & 31)]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL grid_size(float *out) STORES(coefficients[gridDim.x]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL block_size(float *out) STORES(coefficients[blockDim.x / 8]) // load: table=coefficients variation=grid stride=- depth=0
KERNEL block_index(float *out) STORES(coefficients[blockIdx.x]) // load: table=coefficients variation=block stride=- depth=0

KERNEL block_index_scaled(float *out, int n)
{
    const unsigned k = (blockIdx.x * 3 + n) % 32;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=block stride=- depth=0
}

KERNEL block_indices_2d(float *out)
{
    const unsigned k = blockIdx.y * gridDim.x + blockIdx.x;

    out[THREAD] = coefficients[k & 63]; // load: table=coefficients variation=block stride=- depth=0
}

KERNEL from_constant_memory(float *out)
{
    const int k = offsets[3]; // load: table=offsets variation=constant stride=- depth=0

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL chain_of_tables(float *out, int n)
{
    const int k = offsets[n]; // load: table=offsets variation=grid stride=- depth=0
    const int m = offsets[k]; // load: table=offsets variation=grid stride=- depth=0

    out[THREAD] = coefficients[m]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL from_memory_uniform(float *out, const int *__restrict__ index, int n)
{
    const int k = index[n]; // load: table=index variation=grid stride=- depth=0

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL from_memory_by_block(float *out, const int *__restrict__ index)
{
    const int k = index[blockIdx.x]; // load: table=index variation=block stride=- depth=0

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=block stride=- depth=0
}

KERNEL minimum_of_arguments(float *out, int n, int m)
{
    const int k = n < m ? n : m - 1;

    out[THREAD] = coefficients[k & 31]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL cancelled(float *out, int n)
{
    const int i = threadIdx.x * 4, k = (i + n) - i;

    out[THREAD] = coefficients[k]; // load: table=coefficients variation=grid stride=- depth=0
}

KERNEL times_zero(float *out, int n) STORES(coefficients[(int)((threadIdx.x & 31) / 32 + n)]) // load: table=coefficients variation=grid/warp stride=- depth=0

KERNEL known_by_launch_bounds(float *out, int n)
{
    __builtin_assume(n == 7);
    out[THREAD] = coefficients[n]; // load: table=coefficients variation=constant/grid stride=- depth=0
}
