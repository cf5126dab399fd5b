/* SPDX-License-Identifier: MIT
 * The kernels of tests/corpus/cubin/answer_sm_90.cubin: nvcc -cubin -arch=sm_90 -lineinfo
 * -o answer_sm_90.cubin answer.cu */
__constant__ float lut[256], same[64];
__constant__ unsigned char wide[1000];
template <typename T, int N> __global__ void scale(const T *x, T *o)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = x[i] * (T)lut[threadIdx.x * N % 256];
}
namespace filters
{
__global__ void mean(const float *x, float *o, int n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[i + k] * same[k & 63];
    o[i] = sum;
}
} // namespace filters
__global__ void by_data(const unsigned char *x, unsigned char *o)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = wide[x[i]];
}
template __global__ void scale<float, 1>(const float *, float *);
template __global__ void scale<float, 3>(const float *, float *);
template __global__ void scale<int, 1>(const int *, int *);
