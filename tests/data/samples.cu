/* SPDX-License-Identifier: MIT
 * Kernels that read tables and images as six of NVIDIA's samples do. Written here. */
struct option {
    float s, x, v, up, down;
};
struct many {
    int value[1000];
};

__constant__ option options[512];
__constant__ unsigned directions[3][31];
__constant__ float coefficients[17], gaussian[64];
__constant__ float4 filter[125];

#define KERNEL extern "C" __global__ void
#define I      (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL binomial(float *out, int n)
{
    const option a = options[blockIdx.x];
    float v = 0;

    for (int k = 0; k < n; k++)
        v = fmaxf(a.up * v + a.down * __shfl_down_sync(~0u, v, 1), a.s - a.x);
    out[I] = v * a.v;
}

KERNEL quasirandom(unsigned *out, unsigned n)
{
    for (unsigned at = I; at < n; at += blockDim.x * gridDim.x) {
        unsigned v = 0, left = at;

        for (int bit = 0; bit < 31; bit++, left >>= 1)
            if (left & 1)
                v ^= directions[threadIdx.y][bit];
        out[threadIdx.y * n + at] = v;
    }
}

KERNEL large(const __grid_constant__ many p, int *out, int n)
{
    int v = 0;

    for (int k = 0; k < n; k++)
        v = v * 3 ^ p.value[k];
    out[I] = v;
}

KERNEL convolution(float *out, cudaTextureObject_t image)
{
    float v = 0;

#pragma unroll
    for (int k = -8; k <= 8; k++)
        v += tex2D<float>(image, threadIdx.x + k, blockIdx.x) * coefficients[8 - k];
    out[I] = v;
}

KERNEL bilateral(float *out, cudaTextureObject_t image, int r)
{
    float v = 0;

    for (int i = -r; i <= r; i++)
        for (int j = -r; j <= r; j++)
            v += tex2D<float>(image, threadIdx.x + j, blockIdx.x + i) * gaussian[i + r] *
                 gaussian[j + r];
    out[I] = v;
}

KERNEL volume(float *out, cudaTextureObject_t image, int n)
{
    float v = 0;

    for (int k = 0; k < n; k++)
        v += tex3D<float>(image, threadIdx.x + filter[k].x, filter[k].y, filter[k].z) * filter[k].w;
    out[I] = v;
}
