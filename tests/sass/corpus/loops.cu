/* SPDX-License-Identifier: MIT
 * Counters of loops as indices. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ double wide[64];

KERNEL rolled(float *out, const float *__restrict__ given, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        sum += coefficients[k] * // load: coefficients grid depth 1
               given[THREAD + k]; // load: given affine:4 depth 1
    out[THREAD] = sum;
}

KERNEL unrolled_with_remainder(float *out, const float *__restrict__ given, int n)
{
    float sum = 0;

    for (int k = 0; k < n; k++)
        sum += coefficients[k] * // load: coefficients grid depth 1
               given[THREAD + k]; // load: given affine:4 depth 1
    out[THREAD] = sum;
}

KERNEL unrolled_signed(float *out, const float *given, int n)
{
    const int thread = (int)THREAD;
    float sum = 0;

    for (int k = 0; k < n; k++)
        sum += coefficients[k] * // load: coefficients grid depth 1
               given[thread + k]; // load: given affine:4 depth 1
    out[thread] = sum;
}

KERNEL unrolled_in_full(float *out, const float *__restrict__ given)
{
    float sum = 0;

    IN_FULL
    for (int k = 0; k < 8; k++)
        sum = sum * given[THREAD] + coefficients[k]; // load: coefficients constant depth 0
    out[THREAD] = sum;
}

KERNEL known_bounds(float *out, const float *__restrict__ given)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < 48; k++)
        sum = sum * given[THREAD] + coefficients[k]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL backward(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = n - 1; k >= 0; k--)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL strided(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < 48; k += n)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL shifted(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 32; k > n >> 3; k >>= 1)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

KERNEL nested(float *out, const float *__restrict__ given, int n)
{
    float sum = 0;

    ROLLED
    for (int j = 0; j < n; j++)
        ROLLED
    for (int k = 0; k < n; k++)
        sum += coefficients[j + k] * given[THREAD + j]; // load: coefficients grid depth 2
    out[THREAD] = sum;
}

KERNEL from_block_on(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = blockIdx.x; k < n; k++)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients block depth 1
    out[THREAD] = sum;
}

KERNEL from_thread_on(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        sum = sum * 0.5f +
              coefficients[(threadIdx.x & 31) + k]; // load: coefficients affine:4 depth 1
    out[THREAD] = sum;
}

KERNEL grid_stride(float *out, const float *__restrict__ given, int n)
{
    ROLLED
    for (int i = THREAD; i < n * 40; i += gridDim.x * blockDim.x)
        out[i] = given[i] * // load: given affine:4 depth 1
                 coefficients[n]; // load: coefficients grid depth 0/1
}

KERNEL block_stride(float *out, int n)
{
    ROLLED
    for (int i = blockIdx.x; i < n; i += gridDim.x)
        out[THREAD + i] = coefficients[i]; // load: coefficients block depth 1
}

/* The threads of a warp that are still in the loop share its counter. */
KERNEL divergent_bounds(float *out, const int *__restrict__ index)
{
    const int n = index[THREAD];
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    out[THREAD] = sum;
}

/* Behind the loop they do not: each left it with its own. */
KERNEL behind_divergent_loop(float *out, const int *__restrict__ index)
{
    const int n = index[THREAD];
    int k = 0;

    ROLLED
    while (k < 31 && index[k + n] != 7)
        k++;
    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL behind_uniform_loop(float *out, const int *__restrict__ index, int n)
{
    int k = 0;

    ROLLED
    while (k < 31 && index[k + n] != 7) // load: index grid depth 1
        k++;
    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL left_by_break(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++) {
        if (index[THREAD + k] == 3) // load: index affine:4 depth 1
            break;
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    }
    out[THREAD] = sum;
}

/* A thread that skips does not count: the counters of the others go on without it. */
KERNEL counts_apart(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;
    int taken = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        if (index[THREAD + k] & 1) {
            sum = sum * 0.5f + coefficients[taken]; // load: coefficients data/unknown depth 1
            taken++;
        }
    out[THREAD] = sum;
}

KERNEL steps_by_data(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < 32; k += 1 + index[THREAD] % 3)
        sum = sum * 0.5f + coefficients[k]; // load: coefficients data/unknown depth 1
    out[THREAD] = sum + n;
}

KERNEL pointer_walks(float *out, const float *__restrict__ given, int n)
{
    const float *next = given, *const end = given + n;
    float sum = 0;

    ROLLED
    while (next != end)
        sum = sum * 0.5f + *next++; // load: given grid depth 1
    out[THREAD] = sum;
}

KERNEL two_counters(float *out, int n)
{
    double sum = 0;

    ROLLED
    for (int j = 0, k = n; j < k; j++, k--)
        sum += coefficients[j] * // load: coefficients grid depth 1
               wide[k]; // load: wide grid depth 1
    out[THREAD] = (float)sum;
}

KERNEL triangle(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int j = 0; j < n; j++)
        ROLLED
    for (int k = j; k < n; k++)
        sum = sum * 0.5f + coefficients[k - j]; // load: coefficients grid depth 2
    out[THREAD] = sum;
}

KERNEL at_least_once(float *out, int n)
{
    float sum = 0;
    int k = 0;

    ROLLED
    do
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
    while (++k < n);
    out[THREAD] = sum;
}

KERNEL wraps_around(float *out, int n)
{
    float sum = 0;
    int k = 0;

    ROLLED
    for (int j = 0; j < n; j++) {
        sum = sum * 0.5f + coefficients[k]; // load: coefficients grid depth 1
        k = k + 5 >= 32 ? k + 5 - 32 : k + 5;
    }
    out[THREAD] = sum;
}
