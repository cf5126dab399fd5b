/* SPDX-License-Identifier: MIT
 * Where tables lie. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ unsigned char bytes[64];
__constant__ short halves[64];
__constant__ double wide[64];
__constant__ int chains[64];
__device__ float in_global_memory[64];

struct table {
    float values[64];
};

struct record {
    float x, y;
    int kind;
};

__constant__ struct record records[32];

KERNEL index_from_memory(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD]; // load: index affine:4 depth 0

    out[THREAD] = coefficients[k]; // load: coefficients data depth 0
}

KERNEL index_from_memory_masked(float *out, const int *__restrict__ index)
{
    out[THREAD] = coefficients[(int)(index[THREAD] * 2 & 63)]; // load: coefficients data depth 0
}

KERNEL index_from_bytes(float *out, const unsigned char *__restrict__ index)
{
    const int k = index[THREAD] & 31; // load: index affine:1 depth 0

    out[THREAD] = coefficients[k]; // load: coefficients data depth 0
}

KERNEL of_all_widths(double *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    out[THREAD] = bytes[k] + // load: bytes data depth 0
                  halves[k] + // load: halves data depth 0
                  wide[k]; // load: wide data depth 0
}

KERNEL of_structs(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    out[THREAD] = records[k].y; // load: records data depth 0
}

KERNEL chased(float *out, const int *__restrict__ index, int n)
{
    int k = index[THREAD];

    ROLLED
    for (int j = 0; j < n; j++)
        k = chains[k]; // load: chains data depth 1
    out[THREAD] = k;
}

KERNEL chased_uniform(float *out, int n)
{
    int k = n;

    ROLLED
    for (int j = 0; j < n; j++)
        k = chains[k]; // load: chains grid depth 1
    out[THREAD] = k;
}

KERNEL in_parameters(float *out, const int *__restrict__ index, const struct table table)
{
    const int k = index[THREAD];

    out[THREAD] = table.values[k]; // load: table data depth 0
}

KERNEL in_parameters_uniform(float *out, const struct table table, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        sum = sum * 0.5f + table.values[k]; // load: table grid depth 1
    out[THREAD] = sum;
}

KERNEL in_parameters_per_thread(float *out, const struct table table)
{
    out[THREAD] = table.values[threadIdx.x & 31]; // load: table affine:4 depth 0
}

KERNEL in_shared_memory(float *out, const int *__restrict__ index)
{
    __shared__ float staged[64];

    if (threadIdx.x < 64)
        staged[threadIdx.x] = coefficients[threadIdx.x]; // load: coefficients affine:4 depth 0
    __syncthreads();
    const int k = index[THREAD];

    out[THREAD] = staged[k]; // load: staged data depth 0
}

KERNEL in_shared_memory_uniform(float *out, const float *__restrict__ given, int n)
{
    __shared__ float staged[64];
    float sum = 0;

    if (threadIdx.x < 64)
        staged[threadIdx.x] = given[threadIdx.x]; // load: given affine:4 depth 0
    __syncthreads();
    ROLLED
    for (int k = 0; k < n; k++)
        sum = sum * 0.5f + staged[k]; // load: staged grid depth 1
    out[THREAD] = sum;
}

KERNEL in_shared_memory_per_thread(float *out, const float *__restrict__ given)
{
    __shared__ float staged[256];

    staged[threadIdx.x] = given[THREAD];
    __syncthreads();
    out[THREAD] = staged[threadIdx.x + 1]; // load: staged affine:4 depth 0
}

KERNEL in_global_variable(float *out, const int *__restrict__ index)
{
    out[THREAD] = in_global_memory[(int)(index[THREAD])]; // load: in_global_memory data depth 0
}
KERNEL in_global_variable_uniform(float *out, int n)
{
    out[THREAD] = in_global_memory[n]; // load: in_global_memory grid depth 0
}

KERNEL read_only(float *out, const int *index, const float *given)
{
    const int k = __ldg(index + THREAD);

    out[THREAD] = __ldg(given + k); // load: given data depth 0
}

KERNEL read_only_uniform(float *out, const float *given, int n)
{
    out[THREAD] = __ldg(given + n); // load: given grid depth 0
}

KERNEL generic(float *out, const int *__restrict__ index, const float *given, int n)
{
    __shared__ float staged[64];

    staged[threadIdx.x & 63] = threadIdx.x;
    __syncthreads();
    const int k = index[THREAD];

    out[THREAD] = (n > 6 ? staged : given)[k]; // load: staged data/unknown depth 0
}

KERNEL in_local_memory(float *out, const int *__restrict__ index, const float *__restrict__ given,
                       int n)
{
    float copied[32];
    float sum = 0;

    ROLLED
    for (int k = 0; k < 32; k++)
        copied[k] = given[k]; // load: given grid depth 1
    ROLLED
    for (int j = 0; j < n; j++) {
        const int k = index[THREAD + j];

        sum = sum * 0.5f + copied[k]; // load: copied data/unknown depth 1
    }
    out[THREAD] = sum;
}

__device__ __noinline__ struct table table_of(const float *given)
{
    struct table made;

    ROLLED
    for (int k = 0; k < 64; k++)
        made.values[k] = given[k]; // load: given grid depth 1
    return made;
}

KERNEL returned_by_value(float *out, const int *__restrict__ index, const float *__restrict__ given,
                         int n)
{
    const struct table made = table_of(given);
    float sum = 0;

    ROLLED
    for (int j = 0; j < n; j++) {
        const int k = index[THREAD + j];

        sum = sum * 0.5f + made.values[k]; // load: made data/unknown depth 1
    }
    out[THREAD] = sum;
}

KERNEL by_texture(float *out, const int *__restrict__ index, cudaTextureObject_t texture)
{
    const int k = index[THREAD];

    out[THREAD] = tex1Dfetch<float>(texture, k); // load: texture data depth 0
}

KERNEL by_texture_uniform(float *out, cudaTextureObject_t texture, int n)
{
    out[THREAD] = tex1Dfetch<float>(texture, n); // load: texture grid depth 0
}
KERNEL fetched_by_each_thread(float *out, cudaTextureObject_t texture)
{
    out[THREAD] = tex1Dfetch<float>(texture, (int)THREAD); // load: texture affine:4 depth 0
}

KERNEL negative_offsets(float *out, int n)
{
    out[THREAD] = coefficients[60 - n]; // load: coefficients grid depth 0
}

/* What is added to the index lies in another table. */
KERNEL below_the_begin(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    if (k >= 20)
        out[THREAD] = chains[k - 20]; // load: chains data depth 0
}

KERNEL pointer_into_table(float *out, const int *__restrict__ index, int n)
{
    const float *const row = coefficients + n;
    const int k = index[THREAD];

    out[THREAD] = row[k]; // load: coefficients data depth 0
}

KERNEL rows_of_table(float *out, const int *__restrict__ index, int n)
{
    const int row = index[n];
    float sum = 0;

    ROLLED
    for (int k = 0; k < 4; k++)
        sum = sum * 0.5f + coefficients[row * 2 + k & 63]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL two_64_bit_indices(float *out, const float *given, const long long *__restrict__ rows,
                          long long pitch, int n)
{
    const long long row = rows[n] & 7; // load: rows grid depth 0

    out[THREAD] = given[row * pitch + threadIdx.x]; // load: given affine:4 depth 0
}

KERNEL sines(float *out, const float *__restrict__ given)
{
    out[THREAD] = sinf(given[THREAD]); // load: given affine:4 depth 0
}

KERNEL packed_in_register(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD]; // load: index affine:4 depth 0

    out[THREAD] = __byte_perm(0x03020100, 0x07060504, k & 7);
}

KERNEL stored_meanwhile(float *out, int *index, int n)
{
    index[THREAD] = n;
    __threadfence_block();
    const int k = index[THREAD ^ 1]; // load: index uneven:32 depth 0

    out[THREAD] = coefficients[k & 63]; // load: coefficients data depth 0
}

/* A copy for each bank: data choose the row alone. */
KERNEL in_copies_of_shared_memory(float *out, const int *__restrict__ index)
{
    __shared__ float copied[32 * 32];

    for (int k = threadIdx.x; k < 32 * 32; k += blockDim.x)
        copied[k] = k;
    __syncthreads();
    const int k = index[THREAD] & 31;

    out[THREAD] = copied[k * 32 + (threadIdx.x & 31)]; // load: copied data depth 0
}
