/* SPDX-License-Identifier: MIT
 * What random programs (tests/sass/programs.py) are written in. For a GPU the marks are nothing. On
 * the host they say where a thread is, and what it loads. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#ifdef __CUDACC__
#ifdef TILES
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#endif
#define LOAD(table, index)    ((table)[index])
#define FETCH(texture, index) tex1Dfetch<u32>(texture, (s32)(index))
#define GIVEN                 const __grid_constant__ given_words
#define GIVEN_COPY            const given_words
#define TEXTURE               cudaTextureObject_t
struct given_words {
    unsigned head[3], first[32];
    unsigned short second[40];
};
#define LOOP
#define ROUND
#define CALL(function, ...) function(__VA_ARGS__)
#define HIDE(type, value)       \
    ({                          \
        type hidden = value;    \
                                \
        asm("" : "+r"(hidden)); \
        hidden;                 \
    })
#else
#include "cuda_host.h"

#include "marks.h"
#define __restrict__
#ifdef TILES
#include <cooperative_groups.h>
#endif
#define LOAD(table, index)  host_element(__LINE__, table, index)
#define FETCH               LOAD
#define GIVEN               const given_words &
#define GIVEN_COPY          const given_words &
#define TEXTURE             const unsigned *
#define LOOP                host_loop host_rounds = {__LINE__};
#define ROUND               host_rounds.next();
#define CALL(function, ...) host_called(__LINE__, [&] { return function(__VA_ARGS__); })
#define HIDE(type, value)   ((type)(value))
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#ifdef TILES
namespace cg = cooperative_groups;
#endif

#define WHOLE         0xffffffffu
#define LANE          (threadIdx.x & 31)
#define THREAD        THREAD_OF_ONE
#define THREAD_OF_ONE (blockIdx.x * blockDim.x + threadIdx.x)
#define THREAD_OF_TWO ((blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)
#define KERNEL        extern "C" __global__ void

#endif
