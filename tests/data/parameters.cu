/* SPDX-License-Identifier: MIT
 * A table among the parameters, at three kinds of indices; a loop over a table of 8-byte entries
 * beside shared memory; and pointers that are passed to a function. */
#define I (blockIdx.x * blockDim.x + threadIdx.x)

struct values {
    double of[64];
};

extern "C" __global__ void of_data(const __grid_constant__ values t, const int *x, float *o)
{
    o[I] = t.of[x[I] & 7];
}
extern "C" __global__ void of_thread(const __grid_constant__ values t, float *o)
{
    o[I] = t.of[threadIdx.x & 7];
}
extern "C" __global__ void of_all(const __grid_constant__ values t, float *o, int n)
{
    o[I] = t.of[n];
}
extern "C" __global__ void in_loop(const float2 *__restrict__ g, const int *__restrict__ x,
                                   float *o, int n)
{
    __shared__ float s[256];
    float2 sum = {};
    s[threadIdx.x] = n;
    __syncthreads();
    for (int k = 0; k < n; k++) {
        const float2 v = g[x[k * 256 + threadIdx.x]];

        sum.x += v.x;
        sum.y *= v.y;
    }
    o[I] = sum.x + sum.y + s[255 - threadIdx.x] + s[threadIdx.x ^ 1];
}

__device__ __noinline__ float taken(const float *p, int k)
{
    return p[k];
}

extern "C" __global__ void passed(float *o, int n)
{
    __shared__ float s[256];

    s[threadIdx.x] = n;
    __syncthreads();
    o[I] = taken(s, threadIdx.x ^ 33);
}

extern "C" __global__ void passed_from_host(float *o)
{
    o[I] = taken(o, threadIdx.x ^ 33);
}

extern "C" __global__ void passed_either(float *o, int n)
{
    __shared__ float s[256];

    s[threadIdx.x] = n;
    __syncthreads();
    o[I] = taken(n > 6 ? s : o, threadIdx.x ^ 33);
}
