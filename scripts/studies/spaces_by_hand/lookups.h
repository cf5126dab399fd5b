/* SPDX-License-Identifier: MIT
 * What the kernels of this folder look up, with cbank.cuh and by hand. */
#pragma once

#define LOOKUPS       64 /* of a thread, in each table */
#define LOOKUP_BLOCK  512
#define SMALL_ENTRIES 25600 /* of 4 bytes: 100 KB */
#define LARGE_ENTRIES 65536 /* 256 KB */

/* Number n of a sequence of 32-bit numbers that look random: what tables hold. */
static __host__ __device__ inline unsigned number_at(unsigned n)
{
    n = (n ^ n >> 16) * 0x7feb352du;
    n = (n ^ n >> 15) * 0x846ca68bu;
    return n ^ n >> 16;
}

static __host__ __device__ inline unsigned next_of(unsigned state)
{
    return state * 1664525u + 1013904223u;
}

/* Which of so many entries a thread reads. */
static __host__ __device__ inline unsigned entry_at(unsigned state, unsigned entries)
{
    return (unsigned)((unsigned long long)state * entries >> 32);
}
