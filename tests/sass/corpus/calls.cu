/* SPDX-License-Identifier: MIT
 * Functions, templates, copies and spills between an index and its load. */
#include "corpus.h"

__constant__ float coefficients[64];
__constant__ float others[64];

struct indices {
    int first, second, third;
};

__device__ __noinline__ float looked_up(int k)
{
    return coefficients[k] * 2; // load: coefficients data/unknown depth 0/1
}

KERNEL called_with_data(float *out, const int *__restrict__ index, int n)
{
    float sum = 0;

    ROLLED
    for (int k = 0; k < n; k++)
        sum = sum * 0.5f + looked_up(index[THREAD + k]);
    out[THREAD] = sum;
}

__device__ __noinline__ float looked_up_uniform(int k)
{
    return coefficients[k] * 3; // load: coefficients grid depth 0
}

KERNEL called_with_argument(float *out, int n)
{
    out[THREAD] = looked_up_uniform(n + 1);
}

__device__ __noinline__ float looked_up_twice(int k)
{
    return others[k] * 4; // load: others data/unknown depth 0
}

/* Called with a uniform index and with another: the worse counts. */
KERNEL called_twice(float *out, const int *__restrict__ index, int n)
{
    out[THREAD] = looked_up_twice(n) + looked_up_twice(index[THREAD]);
}

__device__ __noinline__ int index_of(int n)
{
    return n * 2 + 1;
}

KERNEL index_returned(float *out, int n)
{
    out[THREAD] = coefficients[(int)(index_of(n))]; // load: coefficients grid depth 0
}

__device__ __noinline__ int index_of_thread()
{
    return threadIdx.x & 31;
}

KERNEL index_of_thread_returned(float *out)
{
    out[THREAD] =
        coefficients[(int)(index_of_thread())]; // load: coefficients affine:4/thread depth 0
}

/* A call may change registers, but not those that its caller keeps. */
KERNEL index_kept_over_call(float *out, int n, int m)
{
    const int k = n * 3 % 29;
    const float before = looked_up_uniform(m & 15);

    out[THREAD] = before + others[k]; // load: others grid depth 0
}

template <int scale> __device__ float scaled(int n)
{
    return coefficients[n * scale]; // load: coefficients grid depth 0
}

KERNEL of_template(float *out, int n)
{
    out[THREAD] = scaled<2>(n) + scaled<3>(n + 1);
}

template <class F> __device__ float with(F f, int n)
{
    return f(n) + 1;
}

KERNEL of_lambda(float *out, int n)
{
    out[THREAD] =
        with([=](int k) { return coefficients[k + n]; }, n); // load: coefficients grid depth 0
}

KERNEL struct_copied(float *out, const struct indices given)
{
    struct indices copy = given;

    if (copy.third > 7)
        copy.first = copy.second;
    out[THREAD] = coefficients[copy.first]; // load: coefficients grid depth 0
}

KERNEL struct_of_memory(float *out, const struct indices *__restrict__ given, int n)
{
    const struct indices copy = given[n];

    out[THREAD] = coefficients[copy.second & 31]; // load: coefficients grid depth 0
}

/* 16 indices in an array that is indexed by data lie in local memory. */
KERNEL index_in_local_array(float *out, const int *__restrict__ index, int n)
{
    int slots[16];

    ROLLED
    for (int k = 0; k < 16; k++)
        slots[k] = index[k * n & 1023];
    const int slot = index[THREAD] & 15;
    const int k = slots[slot]; // load: slots data/unknown depth 0

    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

/* 64 registers and more values that live: indices go to the stack and come back. */
KERNEL_OF_1024 spilled(float *out, const float *__restrict__ given, int n, int m)
{
    float kept[64];
    const int k = (n * 5 + m) % 31;

    IN_FULL
    for (int i = 0; i < 64; i++)
        kept[i] = given[THREAD + i * 16];
    ROLLED
    for (int j = 0; j < n; j++)
        IN_FULL
    for (int i = 0; i < 64; i++)
        kept[i] = kept[i] * kept[(i + 5) % 64] + others[(k + i) & 63]; // load: others grid depth 1
    float sum = coefficients[k]; // load: coefficients grid depth 0

    IN_FULL
    for (int i = 0; i < 64; i++)
        sum = sum * kept[i] + 1;
    out[THREAD] = sum;
}

KERNEL index_through_volatile(float *out, int n)
{
    volatile int kept[2];

    kept[0] = n;
    kept[1] = n + 1;
    const int k = kept[1];

    out[THREAD] = coefficients[k]; // load: coefficients grid depth 0
}

KERNEL thread_index_through_volatile(float *out, int n)
{
    volatile int kept[2];

    kept[0] = threadIdx.x * 7 % 31;
    kept[1] = n + 1;
    const int k = kept[0];

    out[THREAD] = coefficients[k]; // load: coefficients thread depth 0
}

__device__ __noinline__ float recursive(int n, float sum)
{
    return n <= 0 ? sum
                  : recursive(n - 2,
                              sum * 0.5f + coefficients[n]); // load: coefficients grid depth 0/1
}

KERNEL of_recursion(float *out, int n)
{
    out[THREAD] = recursive(n, 1);
}

KERNEL function_pointer(float *out, const int *__restrict__ index, int n)
{
    float (*const function)(int) = n > 5 ? looked_up_twice : looked_up;

    out[THREAD] = function(index[THREAD]) + coefficients[n]; // load: coefficients grid depth 0
}

__device__ __noinline__ int index_behind(const int *pointer)
{
    return *pointer + 3;
}

/* Each arm brings a value of its own, though one function loads both. */
KERNEL called_in_both_arms(float *out, const int *first, const int *second)
{
    int k;

    if (threadIdx.x & 1) {
        k = index_behind(first);
        out[7] = 3;
    } else {
        k = index_behind(second + 1);
        out[8] = 4;
    }
    out[THREAD] = coefficients[k]; // load: coefficients data/unknown depth 0
}

/* Compilers leave a long loop by a CALL, here to where the function returns. */
#define FOUR_TIMES(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define SIXTEEN_TIMES(...) \
    FOUR_TIMES(__VA_ARGS__) FOUR_TIMES(__VA_ARGS__) FOUR_TIMES(__VA_ARGS__) FOUR_TIMES(__VA_ARGS__)

__device__ __noinline__ int mixed(int n, int m)
{
    unsigned k = n, step = m;

    while (true) {
        SIXTEEN_TIMES(k = k * 5 + step; step = step * 3 ^ k >> 3;)
        SIXTEEN_TIMES(k = k * 5 + step; step = step * 3 ^ k >> 3;)
        SIXTEEN_TIMES(k = k * 5 + step; step = step * 3 ^ k >> 3;)
        SIXTEEN_TIMES(k = k * 5 + step; step = step * 3 ^ k >> 3;)
        if (k % 7 == 3)
            return k & 31;
    }
}

KERNEL behind_a_long_loop(float *out, int n, int m)
{
    out[THREAD] = coefficients[mixed(n, m)]; // load: coefficients grid depth 0
}
