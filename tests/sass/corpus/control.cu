/* SPDX-License-Identifier: MIT
 * Branches, predicates and switches that choose an index. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ float others[64];

KERNEL predicated(float *out, int n, int m)
{
    float value = 1;

    if (m > 3)
        value = coefficients[n]; // load: coefficients grid depth 0
    out[THREAD] = value;
}

KERNEL predicated_by_thread(float *out, int n)
{
    float value = 1;

    if (threadIdx.x & 1)
        value = coefficients[n]; // load: coefficients grid depth 0
    out[THREAD] = value;
}

KERNEL early_exit(float *out, const float *__restrict__ given, int n)
{
    if (THREAD >= n * 10)
        return;
    out[THREAD] = coefficients[n] * // load: coefficients grid depth 0
                  given[THREAD]; // load: given affine:4 depth 0
}

KERNEL chosen_by_argument(float *out, int n, int m)
{
    int k = 0;

    if (n > 5)
        k = m + 2;
    else
        k = n;
    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL chosen_by_thread(float *out, int n, int m)
{
    int k = 0;

    if (threadIdx.x & 1)
        k = m + 2;
    else
        k = n;
    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

KERNEL chosen_by_data(float *out, const int *__restrict__ index, int n)
{
    out[THREAD] =
        coefficients[(int)(index[THREAD] > 15 ? 3 : n)]; // load: coefficients data/unknown depth 0
}
KERNEL chosen_by_block(float *out, int n)
{
    out[THREAD] =
        coefficients[(int)(blockIdx.x & 1 ? n + 3 : n * 2)]; // load: coefficients block depth 0
}
KERNEL chosen_by_warp(float *out, int n)
{
    const int k = threadIdx.x / 32 & 1 ? n + 3 : n * 2;

    out[THREAD] = coefficients[k]; // load: coefficients warp/thread depth 0
}

/* Both sides give the same. */
KERNEL chosen_alike(float *out, int n)
{
    int k = n;

    if (threadIdx.x & 1)
        out[THREAD + 1000] = 1;
    k += 2;
    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL assigned_in_divergent_branch(float *out, const int *__restrict__ index, int n)
{
    int k = n;

    if (index[THREAD] > 15) {
        out[THREAD + 1000] = 1;
        __threadfence();
        k = n + 4;
    }
    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

KERNEL switch_on_argument(float *out, int n, int m)
{
    int k;

    switch (n) {
    case 0:
        k = m;
        break;
    case 1:
        k = m * 2;
        break;
    case 2:
        k = 9;
        break;
    case 5:
        k = m >> 1;
        break;
    case 9:
        k = 17;
        break;
    default:
        k = m + 5;
    }
    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL switch_on_data(float *out, const int *__restrict__ index, int n)
{
    int k;

    switch (index[THREAD]) {
    case 0:
        k = n;
        break;
    case 1:
        k = n * 2;
        break;
    case 2:
        k = 9;
        break;
    case 5:
        k = n >> 1;
        break;
    case 9:
        k = 17;
        break;
    default:
        k = n + 5;
    }
    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

/* A table of jumps in a loop: what it jumps to follows the loads, and their counter is the
 * loop's. */
KERNEL switch_in_loop(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        switch (index[THREAD + k]) {
        case 0:
            sum += coefficients[k]; // load: coefficients grid depth 1
            break;
        case 1:
            sum *= sum;
            break;
        case 2:
            sum -= 3;
            break;
        case 3:
            sum = sqrtf(sum);
            break;
        case 4:
            sum /= others[k]; // load: others grid depth 1
            break;
        case 5:
            sum = 1 / sum;
            break;
        case 6:
            sum += out[k];
            break;
        default:
            sum = k;
        }
    out[THREAD] = sum;
}

KERNEL loads_on_both_sides(float *out, int n)
{
    float value;

    if (threadIdx.x & 1)
        value = coefficients[n]; // load: coefficients grid/thread depth 0
    else
        value = others[n + 1]; // load: others grid/thread depth 0
    out[THREAD] = value;
}

KERNEL two_tables_by_argument(float *out, const float *a, const float *b, int n)
{
    const float *const chosen = n & 1 ? a : b;

    out[THREAD] = chosen[n]; // load: a grid depth 0
}

KERNEL two_tables_by_thread(float *out, const float *a, const float *b, int n)
{
    const float *const chosen = threadIdx.x & 1 ? a : b;

    out[THREAD] = chosen[n]; // load: a thread/grid depth 0
}

KERNEL irreducible(float *out, const float *__restrict__ given, int n, int m)
{
    float sum = 0;
    int k = 0;

    if (m & 1)
        goto inside;
before:
    sum = sum * given[THREAD + k] + 1;
inside:
    sum += coefficients[k]; // load: coefficients constant/grid depth 1
    if (++k < n)
        goto before;
    out[THREAD] = sum;
}

KERNEL state_machine(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;
    int state = 0;

    ROLLED
    for (int k = 0; k < n; k++) {
        state = (state * 5 + index[k]) & 31;
        sum = sum * 0.5f + coefficients[state]; // load: coefficients grid depth 1
    }
    out[THREAD] = sum;
}

KERNEL state_machine_of_thread(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;
    int state = 0;

    ROLLED
    for (int k = 0; k < n; k++) {
        state = (state * 5 + index[THREAD + k]) & 31;
        sum = sum * 0.5f + coefficients[state]; // load: coefficients data depth 1
    }
    out[THREAD] = sum;
}
