/* SPDX-License-Identifier: MIT
 * Kernels whose loads are known. The answer stands in the line of a load, addresses for uneven ones:
 *
 *     load: table=T variation=V stride=S addresses=A depth=D
 *
 * T is a symbol, a parameter or a local array. V is the strongest that holds for each execution of the load:
 *   constant  one address, which the compiler knows          warp    one for the threads of a warp
 *   grid      one for all threads of the grid                affine  S bytes from each thread to the next
 *   block     one for the threads of a block                 data    the index comes from memory
 *   uneven    A addresses of a warp that code and block size give, with no one stride
 *   thread    none of these; but no data decides how far the threads of a warp are apart
 *   unknown   none of these
 * "/" separates answers where the compiler may choose. S is "-" without a stride. D is how many loops are around the
 * load. Blocks have one dimension, except in kernels named _2d, whose warps have several rows. Indices from memory are 0 to 31. */
#ifndef CORPUS_H
#define CORPUS_H

#define KERNEL extern "C" __global__ void
/* CUDA 11.8 ends by a signal for sm_90 where some inline functions are in it: those kernels are written out. */
#define STORES(...)                \
    {                              \
        out[THREAD] = __VA_ARGS__; \
    }
#define THREAD    (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL_LANES 0xffffffffu
#define ROLLED    _Pragma("unroll 1")
#define IN_FULL   _Pragma("unroll")

#endif
