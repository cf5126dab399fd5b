/* SPDX-License-Identifier: MIT
 * Memory spaces of tables: how a block prepares one, and how a thread reads an entry. */
#pragma once

#include "rounds.cuh"

enum {
    THREADS = 512,
    /* before the table in shared memory: a barrier, and the rest of a line. Copies to other places
     * than the start of a line take longer: SHIFTED_BYTES is such a place behind it */
    BARRIER_BYTES = 128,
    SHIFTED_BYTES = 16,
    CONSTANT_BYTES = 65536,
    TRIES_MAX = 1 << 20, /* to see that bytes have come */
};

__constant__ __align__(16) uint32_t constant_table[CONSTANT_BYTES / 4];

extern __shared__ __align__(128) unsigned char shared_bytes[];

/* What a launch does. table: in the order that the memory space asks for. */
struct work {
    const uint32_t *table;
    uint32_t entries, lookups; /* of the table; of all threads */
    uint32_t *sums; /* of each thread */
    const uint4 *stream; /* other data: an item for each lookup, where they are read, too */
};

/* -- shared memory ----------------------------------------------------------------------------- */

__device__ inline uint32_t *table_in_shared(uint32_t shift_bytes = 0)
{
    return (uint32_t *)(shared_bytes + BARRIER_BYTES + shift_bytes);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ inline uint32_t shared_address(const void *place)
{
    return (uint32_t)__cvta_generic_to_shared(place);
}

__device__ inline uint32_t rank_in_cluster()
{
    uint32_t rank;

    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ inline void wait_for_cluster()
{
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

/* By one thread: the barrier opens when this many bytes have come. */
__device__ inline void expect_bytes(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;\n\t"
                 "fence.proxy.async.shared::cta;\n\t"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

__device__ inline void wait_for_bytes(uint32_t barrier)
{
    uint32_t done = 0;

    /* A copy that never comes ends the program with an error. */
    for (uint32_t tries = 0; !done; tries++) {
        if (tries == TRIES_MAX)
            __trap();
        asm volatile("{\n\t.reg .pred done;\n\t"
                     "mbarrier.try_wait.parity.shared.b64 done, [%1], 0;\n\t"
                     "selp.u32 %0, 1, 0, done;\n\t}"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    }
}

/* One bulk copy of the whole table, or of the block's part of it. */
__device__ inline void copy_in_bulk(const uint32_t *table, uint32_t bytes, uint32_t shift_bytes = 0)
{
    const uint32_t barrier = shared_address(shared_bytes);

    if (threadIdx.x == 0) {
        expect_bytes(barrier, bytes);
        asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], %2, [%3];" ::"r"(shared_address(table_in_shared(shift_bytes))),
                     "l"(__cvta_generic_to_global(table)), "r"(bytes), "r"(barrier)
                     : "memory");
    }
    __syncthreads();
    wait_for_bytes(barrier);
}

/* Each block of the cluster copies its part into all of them. For sm_120 ptxas makes a call of the
 * driver of it. */
__device__ inline void copy_to_cluster(const uint32_t *table, uint32_t bytes, uint32_t blocks)
{
    const uint32_t barrier = shared_address(shared_bytes), part = bytes / blocks,
                   first = rank_in_cluster() * part;

    if (threadIdx.x == 0)
        expect_bytes(barrier, bytes);
    wait_for_cluster();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                         shared_address(table_in_shared()) + first),
                     "l"(__cvta_generic_to_global((const unsigned char *)table + first)), "r"(part),
                     "r"(barrier), "h"((uint16_t)((1u << blocks) - 1))
                     : "memory");
    wait_for_bytes(barrier);
}

#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

__device__ inline void copy_asynchronously(const uint32_t *table, uint32_t bytes,
                                           uint32_t shift_bytes)
{
    const uint32_t place = (uint32_t)__cvta_generic_to_shared(table_in_shared(shift_bytes));

    for (uint32_t byte = 16 * threadIdx.x; byte < bytes; byte += 16 * THREADS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place + byte),
                     "l"(__cvta_generic_to_global((const unsigned char *)table + byte))
                     : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

#endif

/* -- memory spaces ----------------------------------------------------------------------------- *
 * prepare: all threads of a block, before the first lookup. A kernel whose architecture is older
 * than `oldest` prepares nothing, and is never launched. */

struct nothing_to_prepare {
    static constexpr int oldest = 0;
    static constexpr uint32_t cluster = 1;
    static constexpr uint32_t blocks_of_table = 0; /* whose shared memory holds it together */
    static constexpr uint32_t shift_bytes = 0; /* from a line of it to the table */
    __device__ static void prepare(const work &)
    {
    }
    __device__ static void finish()
    {
    }
};

struct constant_space : nothing_to_prepare {
    __device__ static uint32_t entry(const work &, uint32_t index)
    {
        return constant_table[index];
    }
};

struct global_space : nothing_to_prepare {
    __device__ static uint32_t entry(const work &work, uint32_t index)
    {
        return work.table[index];
    }
};

struct readonly_space : nothing_to_prepare {
    __device__ static uint32_t entry(const work &work, uint32_t index)
    {
        return __ldg(&work.table[index]);
    }
};

template <uint32_t SHIFT = 0> struct shared_space : nothing_to_prepare {
    static constexpr uint32_t blocks_of_table = 1;
    static constexpr uint32_t shift_bytes = SHIFT;
    __device__ static uint32_t entry(const work &, uint32_t index)
    {
        return table_in_shared(SHIFT)[index];
    }
};

template <uint32_t SHIFT> struct shared_by_loads : shared_space<SHIFT> {
    __device__ static void prepare(const work &work)
    {
        const uint4 *const from = (const uint4 *)work.table;
        uint4 *const to = (uint4 *)table_in_shared(SHIFT);

#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < work.entries / 4; i += THREADS)
            to[i] = from[i];
        __syncthreads();
    }
};

template <uint32_t SHIFT> struct shared_by_async : shared_space<SHIFT> {
    static constexpr int oldest = 80;
    __device__ static void prepare(const work &work)
    {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
        copy_asynchronously(work.table, 4 * work.entries, SHIFT);
#endif
    }
};

template <uint32_t SHIFT> struct shared_by_bulk : shared_space<SHIFT> {
    static constexpr int oldest = 90;
    __device__ static void prepare(const work &work)
    {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        copy_in_bulk(work.table, 4 * work.entries, SHIFT);
#endif
    }
};

template <uint32_t BLOCKS> struct shared_by_multicast : shared_space<> {
    static constexpr int oldest = 90;
    static constexpr uint32_t cluster = BLOCKS;
    __device__ static void prepare(const work &work)
    {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        copy_to_cluster(work.table, 4 * work.entries, BLOCKS);
#endif
    }
};

/* Block k of a cluster holds the entries k, k + BLOCKS, ...: these lie behind each other in global
 * memory. */
template <uint32_t BLOCKS> struct distributed : nothing_to_prepare {
    static constexpr int oldest = 90;
    static constexpr uint32_t cluster = BLOCKS;
    static constexpr uint32_t blocks_of_table = BLOCKS;
    __device__ static void prepare(const work &work)
    {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        const uint32_t part = work.entries / BLOCKS;

        copy_in_bulk(work.table + rank_in_cluster() * part, 4 * part);
        wait_for_cluster();
#endif
    }
    __device__ static uint32_t entry(const work &, uint32_t index)
    {
        uint32_t value = 0;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        asm volatile("{\n\t.reg .u32 place;\n\t"
                     "mapa.shared::cluster.u32 place, %1, %2;\n\t"
                     "ld.shared::cluster.u32 %0, [place];\n\t}"
                     : "=r"(value)
                     : "r"(shared_address(table_in_shared() + index / BLOCKS)),
                       "r"(index % BLOCKS));
#endif
        return value;
    }
    /* Others may read this block's part until they have all ended. */
    __device__ static void finish()
    {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        wait_for_cluster();
#endif
    }
};
