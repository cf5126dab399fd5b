/* SPDX-License-Identifier: MIT
 * Images, which are no tables. The host does not run these. */
#include "corpus.h"

KERNEL image_by_texture(float *out, cudaTextureObject_t texture)
{
    out[THREAD] = tex2D<float>(texture, threadIdx.x, blockIdx.x);
}

KERNEL volume_by_texture(float *out, cudaTextureObject_t texture)
{
    out[THREAD] = tex3D<float>(texture, threadIdx.x * 0.25f, blockIdx.x * 0.25f, 0.5f);
}

KERNEL line_by_texture(float *out, cudaTextureObject_t texture)
{
    out[THREAD] = tex1D<float>(texture, threadIdx.x * 0.25f);
}

KERNEL image_by_surface(float *out, cudaSurfaceObject_t surface)
{
    out[THREAD] = surf2Dread<float>(surface, threadIdx.x * 4, blockIdx.x);
}
