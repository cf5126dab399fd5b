/* SPDX-License-Identifier: MIT
 * Tables beside each other in constant memory: what is added to an index lies in another one. */
#include "corpus.h"

__constant__ float first[64];
__constant__ float second[64];
__constant__ float third[64];
__constant__ unsigned char first_bytes[256];
__constant__ unsigned char second_bytes[256];

KERNEL from_the_end(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD] | 1;

    out[THREAD] = first[64 - k]; // load: first data depth 0
}

KERNEL from_the_end_of_the_next(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD] | 1;

    out[THREAD] = second[64 - k]; // load: second data depth 0
}

KERNEL from_the_end_of_bytes(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD] | 1;

    out[THREAD] = first_bytes[256 - k]; // load: first_bytes data depth 0
}

KERNEL from_the_end_by_lane(float *out)
{
    out[THREAD] = second[64 - 1 - (threadIdx.x & 31)]; // load: second affine:-4 depth 0
}

KERNEL from_the_end_by_bytes(float *out, const unsigned char *__restrict__ index)
{
    const int k = index[THREAD] | 1;

    out[THREAD] = second[64 - k]; // load: second data depth 0
}

KERNEL less_the_table_before(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD] + 64;

    __syncthreads();
    out[THREAD] = k < 64 ? 0 : third[k - 64]; // load: third data depth 0
}

KERNEL less_a_number(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    out[THREAD] = k < 17 ? 0 : second[k - 17]; // load: second data depth 0
}

KERNEL bytes_less_a_number(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    out[THREAD] = k < 17 ? 0 : second_bytes[k - 17]; // load: second_bytes data depth 0
}

KERNEL entry_behind(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD];

    out[THREAD] = first[k + 1] * // load: first data depth 0
                  second[k + 3]; // load: second data depth 0
}

KERNEL one_of_two_tables(float *out, const int *__restrict__ index, int n)
{
    const float *const chosen = n & 2 ? first : second;

    out[THREAD] = chosen[index[THREAD]]; // load: second data depth 0
}

KERNEL one_of_two_entries(float *out, const int *__restrict__ index)
{
    const int k = index[THREAD] > 15 ? 10 : 1;

    out[THREAD] = first[k]; // load: first data/unknown depth 0
}

KERNEL downward(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (const float *mine = second + 63; mine > second + n; mine--)
        sum = sum * 0.5f + *mine; // load: second grid depth 1
    out[THREAD] = sum;
}

KERNEL downward_from_the_end(float *out, int n)
{
    float sum = 0;

    ROLLED
    for (int k = n; k > 0; k--)
        sum = sum * 0.5f + second[64 - k]; // load: second grid depth 1
    out[THREAD] = sum;
}
