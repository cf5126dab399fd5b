/* SPDX-License-Identifier: MIT
 * Kernels whose loads are known. The answer stands in the line of a load:
 *
 *     load: T V:N depth D
 *
 * T is a symbol, a parameter or a local array. V is the strongest variation that holds for each
 * execution of the load. N is a number for two of them: the stride in bytes, or addresses.
 *
 *   constant  one address, which the compiler knows
 *   grid      one for all threads of the grid
 *   block     one for the threads of a block
 *   warp      one for the threads of a warp
 *   affine    N bytes from each thread to the next
 *   uneven    N addresses of a warp that code and block size give, with no one stride
 *   data      the index comes from memory
 *   thread    none of these; but no data decides how far the threads of a warp are apart
 *   unknown   none of these
 *
 * "/" separates answers where the compiler may choose. D is how many loops are around the load.
 * Blocks have one dimension, except in kernels named _2d, whose warps have several rows. Indices
 * from memory are 0 to 31. */
#ifndef CORPUS_H
#define CORPUS_H

#define KERNEL         extern "C" __global__ void
#define KERNEL_OF_1024 extern "C" __global__ void __launch_bounds__(1024)
#define THREAD         (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL_LANES      0xffffffffu
#define ROLLED         _Pragma("unroll 1")
#define IN_FULL        _Pragma("unroll")

#endif
