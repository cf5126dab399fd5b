/* SPDX-License-Identifier: MIT
 * Comparisons and carries of 64 bits, which machine code takes in two halves. */
#include "corpus.h"

__constant__ float coefficients[64];

KERNEL below(float *out, long long limit)
{
    const long long i = threadIdx.x;

    out[i] = coefficients[i < limit + 9 ? 3 : 60]; // load: coefficients thread depth 0
}

KERNEL below_unsigned(float *out, size_t limit)
{
    const size_t i = THREAD;

    out[i] = coefficients[i > limit + 9 ? 3 : 60]; // load: coefficients thread depth 0
}

KERNEL equal(float *out, long long chosen)
{
    const long long i = threadIdx.x;

    out[i] = coefficients[i == chosen ? 3 : 60]; // load: coefficients thread depth 0
}

KERNEL different(float *out, size_t chosen)
{
    const size_t i = threadIdx.x;

    out[i] = coefficients[i != chosen ? 3 : 60]; // load: coefficients thread depth 0
}

KERNEL guarded_by_size(float *out, size_t n, int m)
{
    const size_t i = threadIdx.x;
    int k = m;

    if (i < n + 9)
        k = m + 7;
    __syncwarp();
    out[i] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL within_a_guard(float *out, const float *__restrict__ given, size_t n, int m)
{
    const size_t i = THREAD;

    if (i >= n + 9)
        return;
    out[i] = coefficients[m] * // load: coefficients grid depth 0
             given[i]; // load: given affine:4 depth 0
}

KERNEL smallest(float *out, long long n)
{
    const long long i = threadIdx.x, k = i < n ? i : n;

    out[i] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL among_three(float *out, long long a, long long b, long long c)
{
    const long long i = threadIdx.x;
    const int k = (i < a) + 2 * (i < b + 9) + 4 * (i < c + 20);

    out[i] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL and_another(float *out, long long limit, int n)
{
    const long long i = threadIdx.x;

    out[i] = coefficients[i < limit + 5 && n > 3 ? 3 : 60]; // load: coefficients thread depth 0
}

KERNEL or_equal_to_data(float *out, const long long *__restrict__ bounds)
{
    const long long i = threadIdx.x;
    int k = 0;

    IN_FULL
    for (int j = 0; j < 8; j++)
        k += i >= bounds[j]; // load: bounds grid depth 0
    out[i] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL end_of_an_array(float *out, const char *__restrict__ given, long long n)
{
    const char *const mine = given + threadIdx.x;

    out[THREAD] = coefficients[mine < given + n ? 3 : 60]; // load: coefficients thread depth 0
}

__device__ __noinline__ int in_a_function(int i, long long limit)
{
    return (long long)i < limit + 9 ? 3 : 60;
}

KERNEL called(float *out, long long limit)
{
    const int k = in_a_function(threadIdx.x, limit);

    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL searched(float *out, const long long *__restrict__ bounds, long long n)
{
    const long long i = threadIdx.x & 31;
    long long low = 0, high = n + 9;

    ROLLED
    while (low < high) {
        const long long middle = (low + high) / 2;

        if (bounds[middle] <= i) // load: bounds data/unknown depth 1
            low = middle + 1;
        else
            high = middle;
    }
    out[THREAD] = coefficients[low]; // load: coefficients data/unknown depth 0
}

KERNEL searched_by_block(float *out, const long long *__restrict__ bounds, long long n)
{
    const long long i = blockIdx.x * 12;
    long long low = 0, high = n + 9;

    ROLLED
    while (low < high) {
        const long long middle = (low + high) / 2;

        if (bounds[middle] <= i) // load: bounds block depth 1
            low = middle + 1;
        else
            high = middle;
    }
    out[THREAD] = coefficients[low]; // load: coefficients block depth 0
}

KERNEL of_arguments(float *out, long long a, long long b, int n)
{
    out[THREAD] = coefficients[a < b ? n : n + 3]; // load: coefficients grid depth 0
}

KERNEL of_the_block(float *out, long long n)
{
    const long long i = blockIdx.x;

    out[THREAD] = coefficients[i == 1 && i < n + 9 ? 3 : 60]; // load: coefficients block depth 0
}

KERNEL of_the_grid_in_a_loop(float *out, const float *__restrict__ given, size_t n, int m)
{
    float sum = 0;

    ROLLED
    for (size_t i = THREAD; i < n + 500; i += (size_t)gridDim.x * blockDim.x)
        sum += given[i] * // load: given affine:4 depth 1
               coefficients[m]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL carried(float *out, size_t n)
{
    const size_t i = threadIdx.x, sum = (i << 56) + (n << 55);

    out[i] = coefficients[sum >> 58]; // load: coefficients thread depth 0
}

KERNEL carry_alone(float *out, unsigned n)
{
    const size_t sum = (size_t)(threadIdx.x << 27) + (n << 26 | 1u << 31);

    out[THREAD] = coefficients[sum >> 32]; // load: coefficients thread depth 0
}

KERNEL product_of_128_bits(float *out, size_t n)
{
    const size_t i = (size_t)threadIdx.x << 59;
    const unsigned __int128 product = (unsigned __int128)i * (n + 9);

    out[THREAD] = coefficients[(int)(product >> 64) & 63]; // load: coefficients thread depth 0
}

KERNEL backward(float *out, const float *given, long long n)
{
    const long long i = THREAD;

    if (i < n + 500)
        out[i] = given[n + 999 - i]; // load: given affine:-4 depth 0
}

KERNEL both_ways_in_a_loop(float *out, const float *__restrict__ given, size_t n)
{
    ROLLED
    for (size_t i = THREAD; i < n + 500; i += (size_t)gridDim.x * blockDim.x)
        out[i] = given[i] * // load: given affine:4 depth 1
                 given[n + 1000 - i]; // load: given affine:-4 depth 1
}

KERNEL per_warp(float *out)
{
    const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;

    out[THREAD] = coefficients[warp & 63]; // load: coefficients warp depth 0
}

KERNEL of_a_shifted_pair(float *out, unsigned long long n)
{
    const unsigned long long i = threadIdx.x, pair = (i * (n + 3) << 30) | i;

    out[i] = coefficients[pair >> 29 & 63]; // load: coefficients thread depth 0
}
