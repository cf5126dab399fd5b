/* SPDX-License-Identifier: MIT
 * The kernel of tests/corpus/cubin: nvcc -cubin -arch=sm_NN -o lookup_sm_NN.cubin lookup.cu */
__constant__ float table[16];

__global__ void lookup(const int *index, float *out, int count)
{
    float sum = 0;

#pragma unroll 1
    for (int k = 0; k < count; k++)
        sum += table[index[k * blockDim.x + threadIdx.x]];
    out[threadIdx.x] = sum;
}
