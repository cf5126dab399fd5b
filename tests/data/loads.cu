/* SPDX-License-Identifier: MIT
 * Kernels of a user, each with a load of another kind; advise.py says which. */
#include <stdint.h>

struct table {
    float of[64];
};

__constant__ float values[1024];
__constant__ double doubles[64];
__constant__ int integers[64];
__constant__ uint16_t halves[64];
__constant__ int8_t bytes[64];

#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL constant_register(const int *index, float *out)
{
    out[THREAD] = values[index[THREAD] & 1023];
}

KERNEL constant_widths(const int *index, double *out)
{
    const int i = index[THREAD] & 63;

    out[THREAD] = doubles[i] + halves[i] + bytes[i] + integers[i];
}

KERNEL constant_number(const float *in, float *out)
{
    float sum = 0;

    for (int k = 0; k < 8; k++)
        sum = sum * in[THREAD] + values[k];
    out[THREAD] = sum;
}

KERNEL constant_converted(double *out)
{
    out[THREAD] = (double)integers[3] + (double)values[5] + rsqrtf(values[7]) +
                  __popc(integers[9]) + __clz(integers[11]) + (int)values[12] +
                  doubles[5] * doubles[6] + (float)integers[13] + (integers[20] > 3);
}

KERNEL constant_uniform(float *out, int count)
{
    float sum = 0;

    for (int k = 0; k < count; k++)
        sum += values[k & 1023] * (float)doubles[k & 63];
    out[THREAD] = sum;
}

KERNEL constant_loop(const int *index, float *out, int count)
{
    float sum = 0;

#pragma unroll 1
    for (int k = 0; k < count; k++)
        sum += values[index[THREAD + k] & 1023];
    out[THREAD] = sum + values[index[0] & 7];
}

__device__ __noinline__ float called(int i)
{
    return values[i & 1023] * 2;
}

KERNEL constant_called(const int *index, float *out, int count)
{
    float sum = 0;

#pragma unroll 1
    for (int k = 0; k < count; k++)
        sum += called(index[THREAD + k]);
    out[THREAD] = sum;
}

KERNEL parameter(const int *index, float *out, const struct table table)
{
    out[THREAD] = table.of[index[THREAD] & 63];
}

KERNEL global_plain(const int *index, float *table, float *out)
{
    out[THREAD] = table[index[THREAD]];
}

KERNEL global_read_only(const int *__restrict__ index, const float *__restrict__ table,
                        float *__restrict__ out)
{
    out[THREAD] = table[index[THREAD]];
}

KERNEL global_past_l1(const int *index, const float4 *table, float4 *out)
{
    out[THREAD] = __ldcg(table + index[THREAD]);
}

KERNEL shared(const int *index, const float *table, float *out)
{
    __shared__ float staged[256];

    staged[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    out[THREAD] = staged[index[THREAD]];
}

KERNEL by_texture(const int *index, cudaTextureObject_t table, float *out)
{
    out[THREAD] = tex1Dfetch<float>(table, index[THREAD]) + tex2D<float>(table, THREAD, THREAD);
}

KERNEL shuffle(const int *index, const float *table, float *out)
{
    out[THREAD] = __shfl_sync(0xffffffffu, table[threadIdx.x & 31], index[THREAD]);
}

KERNEL local(const int *index, float *out, int count)
{
    float table[32];
    float sum = 0;

#pragma unroll 1
    for (int k = 0; k < count; k++)
        table[index[k] & 31] = out[k];
#pragma unroll 1
    for (int k = 0; k < count; k++)
        sum += table[index[k + 5] & 31];
    out[THREAD] = sum;
}

KERNEL generic(const int *index, float *out, int which, const float *given)
{
    __shared__ float staged[64];

    staged[threadIdx.x & 63] = THREAD;
    __syncthreads();
    out[THREAD] = (which ? staged : given)[index[THREAD]];
}

KERNEL switched(const int *index, float *out, int count)
{
    float sum = 0;

#pragma unroll 1
    for (int k = 0; k < count; k++)
        switch (index[k + THREAD]) {
        case 0:
            sum += values[k];
            break;
        case 1:
            sum *= values[k + 1];
            break;
        case 2:
            sum -= 3;
            break;
        case 3:
            sum = sqrtf(sum);
            break;
        case 4:
            sum /= values[k];
            break;
        case 5:
            sum += sinf(sum);
            break;
        case 6:
            sum += out[k];
            break;
        default:
            sum = k;
        }
    out[THREAD] = sum;
}

KERNEL pointer(const int *index, float *out, float (*function)(int))
{
    out[THREAD] = function(index[THREAD]);
}
